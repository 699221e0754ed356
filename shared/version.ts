// The version of rollcall in package.json, which `npm run generate` writes, so that no program reads the file.

export const VERSION = "0.1.0";
