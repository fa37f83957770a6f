// The page of one known issue: its text comes from the server; here are the copy buttons and the colours.
import { themeButton } from "./appearance.js";
import { copyButtons } from "./found.js";
import { wordsOf } from "./words.js";

const words = wordsOf(document.documentElement.lang.startsWith("zh") ? "zh" : "en");
themeButton(document.getElementById("theme"), () => words);
copyButtons(document.body, () => words);
