// Runs before the first paint, so that a remembered theme never flashes.
(() => {
  const KEY = "sketchlasso-theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const other = () => (root.dataset.theme === "dark" ? "light" : "dark");
  let chosen = remembered();

  function remembered() {
    try {
      const kept = localStorage.getItem(KEY);
      return kept === "dark" || kept === "light" ? kept : null;
    } catch {
      return null; // storage may be forbidden
    }
  }

  function apply() {
    root.dataset.theme = chosen ?? (system.matches ? "dark" : "light");
    const button = document.getElementById("theme");
    if (!button) return; // the page is not there yet
    button.title = `Change to the ${other()} theme`;
    button.setAttribute("aria-label", button.title);
    dispatchEvent(new Event("themechange"));
  }

  apply();
  system.addEventListener("change", apply);
  addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme")?.addEventListener("click", () => {
      chosen = other();
      try {
        localStorage.setItem(KEY, chosen);
      } catch {
        // Without storage, the choice lasts until the page is closed.
      }
      apply();
    });
  });
})();
