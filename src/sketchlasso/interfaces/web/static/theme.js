// Runs before the first paint, so that a remembered theme never flashes.
(() => {
  const KEY = "sketchlasso-theme";
  const wanted = matchMedia("(prefers-color-scheme: dark)");

  function remembered() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // storage may be forbidden
    }
  }

  function current() {
    return document.documentElement.dataset.theme || (wanted.matches ? "dark" : "light");
  }

  function name(button) {
    const next = current() === "dark" ? "light" : "dark";
    button.setAttribute("aria-label", `Change to the ${next} theme`);
    button.title = `Change to the ${next} theme`;
  }

  const kept = remembered();
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    name(button);
    button.addEventListener("click", () => {
      const next = current() === "dark" ? "light" : "dark";
      document.documentElement.dataset.theme = next;
      try {
        localStorage.setItem(KEY, next);
      } catch {
        // It holds until the page is closed.
      }
      name(button);
      dispatchEvent(new Event("themechange"));
    });
    wanted.addEventListener("change", () => {
      name(button);
      dispatchEvent(new Event("themechange"));
    });
  });
})();
