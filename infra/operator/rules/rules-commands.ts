// Adds the commands of rollcall rules, and runs rollcall rules list and get: prints the deployment's rules.
import { isPrintable, visibleText } from "../../../shared/protocol/printable.ts";
import { type Result, success } from "../../../shared/result.ts";
import { connect, fail, formatOf, print } from "../answer.ts";
import type { OperatorFault } from "../fault.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { listOf, type Shown, textOf } from "../render/shown.ts";
import type { TableColumn } from "../render/table.ts";
import { changeCommands } from "./change-commands.ts";
import { checkCommand } from "./check-command.ts";
import { askRules, type PresentRules, revisionText, rolloutText } from "./rollout.ts";
import type { StoredObject } from "./rule-files.ts";

export function rulesCommands(program: OperatorProgram): void {
  const rules = program
    .command("rules")
    .description("Feature rules of node-feature-discovery (NodeFeatureRule), which set parts of Nodes.");
  checkCommand(program, rules);
  changeCommands(program, rules);
  rules
    .command("list")
    .description("List the present rules with the number of machines that each matches, and all revisions.")
    .action(async () => {
      const present = await presentRules(program);
      if (!present.ok) return fail(program, present.error);
      await print(program, () => success(rulesList(present.value)), present.value);
    });
  rules
    .command("get [object]")
    .description("Print the present rules as NodeFeatureRule objects in YAML or JSON, for rules apply.")
    .action((name?: string) => get(program, name));
}

async function presentRules(program: OperatorProgram): Promise<Result<PresentRules, OperatorFault>> {
  const connection = connect(program);
  return connection.ok ? askRules(connection.value) : connection;
}

type Match = PresentRules["matches"][number];

/** Splits `object/rule`. No object has a slash in its name. */
const namesOf = ({ rule }: Match): [object: string, rule: string] => {
  const at = rule.indexOf("/");
  return [rule.slice(0, at), rule.slice(at + 1)];
};

const COLUMNS: readonly TableColumn<Match>[] = [
  { head: "OBJECT", of: (match) => namesOf(match)[0], rank: 0 },
  { head: "RULE", of: (match) => namesOf(match)[1], rank: 0, least: 16 },
  { head: "MACHINES", of: ({ machines }) => String(machines), rank: 0 },
];

function rulesList(present: PresentRules): Shown {
  const { matches, revisions, revision: current } = present;
  const earlier = revisions
    .filter(({ revision }) => revision !== current)
    .map((each) => `${revisionText(each)}\n`);
  const own = revisions.find(({ revision }) => revision === current);
  const how = own && (own.backTo === null ? "applied" : `brought back from revision ${own.backTo}`);
  const by = own ? `\n${how} by ${own.createdBy} at ${own.createdAt}` : "";
  return listOf(matches, () => COLUMNS, {
    nameOf: ({ rule }) => rule,
    above: () => `${rolloutText(present)}${by}\n`,
    below: earlier.join(""),
  });
}

async function get(program: OperatorProgram, name: string | undefined): Promise<void> {
  const present = await presentRules(program);
  if (!present.ok) return fail(program, present.error);
  const { objects } = present.value;
  const chosen = objects.filter(({ metadata }) => name === undefined || metadata.name === name);
  if (name !== undefined && chosen.length === 0)
    return fail(program, {
      reason: "not-found",
      message: `no object ${name}: rollcall rules list shows all`,
    });
  const format = formatOf(program) ?? "yaml";
  if (format !== "json" && format !== "yaml")
    return fail(program, { reason: "usage", message: "rules get prints -o yaml or -o json" });
  if (format === "yaml") {
    program.surroundings.process.stdout.write(await yamlOf(chosen));
    return;
  }
  const list = { apiVersion: "v1", kind: "List", items: chosen };
  await print(program, () => success(textOf(() => "")), name === undefined ? list : chosen[0]);
}

/** Returns the objects as documents that parse to the same texts, with control characters as escapes. */
async function yamlOf(objects: readonly StoredObject[]): Promise<string> {
  const { Document, visit } = await import("yaml");
  const texts = objects.map((object) => {
    const document = new Document(object);
    visit(document, {
      Scalar: (_, scalar) => {
        // Only a text in double quotes can have escapes.
        if (typeof scalar.value === "string" && !isPrintable(scalar.value.replaceAll("\n", "")))
          scalar.type = "QUOTE_DOUBLE";
      },
    });
    return visibleText(document.toString({ lineWidth: 0 }));
  });
  return texts.join("---\n");
}
