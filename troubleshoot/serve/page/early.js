// Before the first paint: the reader's own choice of colours. Nothing but two settings is ever kept in the browser.
(() => {
  try {
    const theme = localStorage.getItem("troubleshoot.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be forbidden; then the system's colours stand.
  }
})();
