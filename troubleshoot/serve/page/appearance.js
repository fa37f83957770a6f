// The two things that the page remembers: colours and language.

const THEMES = ["auto", "light", "dark"];

/** Read a setting; null where the browser keeps none. */
export function remembered(name) {
  try {
    return localStorage.getItem(`troubleshoot.${name}`);
  } catch {
    return null;
  }
}

/** Keep a setting; where the browser forbids it, it holds until the page is left. */
export function remember(name, value) {
  try {
    localStorage.setItem(`troubleshoot.${name}`, value);
  } catch {
    // Nothing is lost but the choice.
  }
}

/** Make the button go round automatic, light and dark. Returns the function that writes its label again. */
export function themeButton(button, words) {
  let theme = THEMES.includes(remembered("theme")) ? remembered("theme") : "auto";
  const label = () => {
    button.textContent = { auto: "◐", light: "○", dark: "●" }[theme] + " " + words()(`theme.${theme}`);
    button.setAttribute("aria-label", words()("theme.label", { name: words()(`theme.${theme}`) }));
  };
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    remember("theme", theme);
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    label();
  });
  label();
  return label;
}
