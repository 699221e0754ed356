// The version of rollcall in package.json. `npm run generate` writes it as a constant, so that no program reads a
// file for it.

export const VERSION = "0.1.0";
