// Checks of the scripts of the page and of the benchmark (`make lint`). Layout of the code is nobody's concern here; names, size and dead code are.

import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["node_modules/", ".venv/"] },
  js.configs.recommended,
  {
    rules: {
      "no-undef": "error",
      "no-unused-vars": "error",
      "no-shadow": ["error", { builtinGlobals: false, hoist: "functions" }],
      eqeqeq: "error",
      "prefer-const": "error",
      "no-var": "error",
      complexity: ["error", 20],
      "max-lines": ["error", 300],
      "max-lines-per-function": ["error", { max: 80, IIFEs: true }],
    },
  },
  {
    files: ["explorer/ui/web/**/*.js"],
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: globals.browser },
  },
  {
    files: ["explorer/bench/*.mjs"],
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: globals.node },
  },
];
