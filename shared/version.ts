// The version of rollcall: package.json's. Made by `npm run generate`; a constant, so that nothing is read for it.

export const VERSION = "0.1.0";
