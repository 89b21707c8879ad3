// npm install --no-save eslint @eslint/js globals && npx eslint src
import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  { languageOptions: { globals: globals.browser, ecmaVersion: 2024, sourceType: "module" } },
];
