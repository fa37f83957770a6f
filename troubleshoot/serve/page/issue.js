// The page of one known issue: its text comes from the server; here are the copy buttons and the colours.
import { themeButton } from "./appearance.js";
import { codeBlock } from "./dom.js";
import { wordsOf } from "./words.js";

const words = wordsOf(document.documentElement.lang.startsWith("zh") ? "zh" : "en");
themeButton(document.getElementById("theme"), () => words);
// What does not help is not there to be copied.
for (const code of document.querySelectorAll(":not(.minus) > div > pre > code")) {
  code.parentElement.replaceWith(codeBlock(code.textContent, words, words("code")));
}
