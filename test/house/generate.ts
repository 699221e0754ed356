// Writes the tables of docs/ from the code, and copies package.json's version into other files. Run by `npm run
// generate`.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./markdown.ts";
import { versionedFiles, withVersion } from "./versions.ts";
import { COST_PARTS_FILE, costPartsModule, generatedPages, pageWithTables } from "./tables.ts";

for (const page of generatedPages) writeFileSync(join(root, page), await pageWithTables(page));
writeFileSync(join(root, COST_PARTS_FILE), await costPartsModule());
for (const path of versionedFiles) writeFileSync(join(root, path), withVersion(path));
