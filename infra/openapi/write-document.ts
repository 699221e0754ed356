// Writes the API's description to where wrangler takes the Worker's static files from.
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { openapiText } from "./document.ts";

const FILE = resolve(import.meta.dirname, "../../worker/static/openapi.json");

export const writeDocument = () => writeFileSync(FILE, openapiText());
