// The version of rollcall, which `npm run generate` copies from package.json, so that no program reads a file for it.

export const VERSION = "0.1.0";
