// Measures costs and traffic and stores them for docs/costs.md (`npm run costs`). `npm run generate` then writes
// the page's tables.
import { writeFileSync } from "node:fs";
import { RECORD_FILE } from "./recorded.ts";

const HELP = `npm run costs: counts what machines cost and send, writes it into test/lab/bench/cost/recorded.json, and prints it.
Then npm run generate writes the tables of docs/costs.md. It takes minutes.
`;

const { stdout, stderr } = process;
const args = process.argv.slice(2);
if (args.length > 0) {
  const isHelp = args[0] === "--help" || args[0] === "-h";
  (isHelp ? stdout : stderr).write(isHelp ? HELP : `npm run costs: it takes no ${args[0]}\n\n${HELP}`);
  process.exit(isHelp ? 0 : 2);
}
// These modules are imported only here, so that the help does not wait for them.
const [{ costText }, { measureCosts }] = await Promise.all([
  import("./cost-text.ts"),
  import("./measure-costs.ts"),
]);
const record = await measureCosts((message) => void (stderr.isTTY && stderr.write(`\r\u001B[K${message}`)));
if (stderr.isTTY) stderr.write("\r\u001B[K");
writeFileSync(RECORD_FILE, `${JSON.stringify(record, null, 2)}\n`);
stdout.write(costText(record));
