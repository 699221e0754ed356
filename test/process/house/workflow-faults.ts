// node workflow-faults.cjs FILE...: what GitHub's own parser finds wrong with workflows, as JSON. It is bundled before it
// runs, since the parser imports JSON as bundlers take it, and Node.js does not.
import { readFileSync } from "node:fs";
import { NoOperationTraceWriter, parseWorkflow } from "@actions/workflow-parser";

const faults = process.argv.slice(2).flatMap((name) => {
  const content = readFileSync(name, "utf8");
  const { context } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  return context.errors.getErrors().map(({ message }) => `${name}: ${message}`);
});
process.stdout.write(JSON.stringify(faults));
