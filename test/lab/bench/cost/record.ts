// npm run costs: measures costs and traffic, and keeps what it finds for docs/costs.md, whose tables `npm run generate` then
// writes anew.
import { writeFileSync } from "node:fs";
import { costText } from "./cost-text.ts";
import { measureCosts } from "./measure-costs.ts";
import { RECORD_FILE } from "./recorded.ts";

const { stdout, stderr } = process;
const record = await measureCosts((message) => void (stderr.isTTY && stderr.write(`\r\u001B[K${message}`)));
if (stderr.isTTY) stderr.write("\r\u001B[K");
writeFileSync(RECORD_FILE, `${JSON.stringify(record, null, 2)}\n`);
stdout.write(costText(record));
