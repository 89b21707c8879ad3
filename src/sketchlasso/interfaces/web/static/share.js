// "Copy link", also without access to the clipboard.

import { byId } from "./dom.js";

async function copied(text, field) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // No permission, or no secure context: the old way works from a selected field.
    field.focus();
    field.select();
    return document.execCommand("copy");
  }
}

export function closeShare() {
  byId("copied").hidden = true;
}

export function startShare() {
  const [button, box, field] = [byId("copy"), byId("copied"), byId("link")];
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", async () => {
    box.hidden = false;
    field.value = location.href;
    const done = await copied(location.href, field);
    field.focus();
    field.select();
    byId("copied-said").textContent = done ? "Copied." : "Press Ctrl+C (or \u2318C) to copy it.";
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      closeShare();
      button.focus();
    }
  });
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".sharing")) closeShare();
  });
}
