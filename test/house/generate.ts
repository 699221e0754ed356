// npm run generate: writes the tables of docs/ that are made from the code.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./markdown.ts";
import { generatedPages, pageWithTables } from "./tables.ts";

for (const page of generatedPages) writeFileSync(join(root, page), await pageWithTables(page));
