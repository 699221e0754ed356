// Writes the API's description to the Worker's static files, for npm run build.
import { mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { replaceFile } from "../page/build/replace-file.ts";
import { openapiText } from "./document.ts";

const FILE = resolve(import.meta.dirname, "../../worker/static/openapi.json");

export function writeDocument(): void {
  mkdirSync(dirname(FILE), { recursive: true });
  replaceFile(FILE, Buffer.from(openapiText()));
}

if (import.meta.main) writeDocument();
