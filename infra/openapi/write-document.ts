// Writes the API's description to where wrangler takes the Worker's static files from.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { openapiText } from "./document.ts";

const FILE = resolve(import.meta.dirname, "../../worker/static/openapi.json");

export function writeDocument(): void {
  mkdirSync(dirname(FILE), { recursive: true });
  writeFileSync(FILE, openapiText());
}
