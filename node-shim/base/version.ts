// The shim's version, as --version tells it.
import shim from "../package.json" with { type: "json" };

export const VERSION: string = shim.version;
