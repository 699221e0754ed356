// Runs rollcall rules check: checks feature rules of node-feature-discovery, and shows their result for one
// machine's features. Sends no request.
import type { Command } from "commander";
import * as z from "zod/mini";
import type { FeatureSet } from "../../../shared/features/match.ts";
import { evaluateRules, featureSets, type RulesOutcome } from "../../../shared/features/rules.ts";
import { nodeFeaturesOf, rulesInOrder } from "../../../shared/features/rules-result.ts";
import { featuresSchema } from "../../../shared/protocol/features.ts";
import { firstFault } from "../../../shared/protocol/schema.ts";
import { type Result, success } from "../../../shared/result.ts";
import { fail, print } from "../answer.ts";
import { EXIT_CODES, fault, type OperatorFault } from "../fault.ts";
import type { OperatorProgram } from "../operator-program.ts";
import { listOf, type Shown } from "../render/shown.ts";
import type { TableColumn } from "../render/table.ts";
import { documentsIn, ruleObjects } from "./rule-files.ts";

const HELP = `
FILE has NodeFeatureRule objects in YAML or JSON, - is standard input. rollcall evaluates objects in the order of their names.

Examples:
  rollcall rules check gpu-rules.yaml
  kubectl get nodefeaturerules -o yaml | rollcall rules check -
  node-shim facts --features all > facts.json && rollcall rules check gpu-rules.yaml --features facts.json`;

interface CheckFlags {
  features?: string;
}

export function checkCommand(program: OperatorProgram, rules: Command): void {
  rules
    .command("check <file...>")
    .description(
      "Check the fields, operators, expressions and templates of rules; with --features, show the result for one machine.",
    )
    .option(
      "--features <file>",
      "the output of node-shim facts --features all, or a NodeFeature object: print what the rules result in",
    )
    .addHelpText("after", HELP)
    .action(async (files: string[], flags: CheckFlags) => {
      const objects = await ruleObjects(files);
      if (!objects.ok) return fail(program, objects.error);
      const features = flags.features === undefined ? success(null) : await featuresIn(flags.features);
      if (!features.ok) return fail(program, features.error);
      const rules = rulesInOrder(objects.value);
      if (features.value === null) {
        const lines = rules.map(({ name }) => ({ what: name, result: "valid" }));
        return print(
          program,
          () => success(listOf(lines, () => CHECKED, { nameOf: ({ what }) => what })),
          lines,
        );
      }
      const outcome = evaluateRules(rules, features.value);
      await print(program, () => success(outcomeList(outcome)), outcome);
      if (outcome.failed.length + outcome.refused.length > 0)
        program.surroundings.process.exitCode = EXIT_CODES.failed;
    });
}

const elements = <Element extends z.ZodMiniType>(element: Element) => z.object({ elements: element });
/** The features of a NodeFeature object. A machine's own facts have them in another form. */
const nodeFeatureSchema = z.object({
  spec: z.object({
    features: z.object({
      flags: z.optional(z.record(z.string(), elements(z.record(z.string(), z.unknown())))),
      attributes: z.optional(z.record(z.string(), elements(z.record(z.string(), z.string())))),
      instances: z.optional(
        z.record(z.string(), elements(z.array(z.object({ attributes: z.record(z.string(), z.string()) })))),
      ),
    }),
  }),
});
/** The output of node-shim facts, which names the source of each value. */
const { flags, attributes, instances } = featuresSchema.shape;
const sourced = <Value extends z.ZodMiniType>(value: Value) => z.object({ value });
const factsSchema = z.object({
  features: z.object({
    flags: sourced(flags),
    attributes: sourced(attributes),
    instances: sourced(instances),
  }),
});

async function featuresIn(file: string): Promise<Result<Map<string, FeatureSet>, OperatorFault>> {
  const documents = await documentsIn(file);
  if (!documents.ok) return documents;
  const facts = factsSchema.safeParse(documents.value[0]);
  if (facts.success) {
    const { flags, attributes, instances } = facts.data.features;
    const features = { flags: flags.value, attributes: attributes.value, instances: instances.value };
    return success(featureSets(nodeFeaturesOf(features)));
  }
  const object = nodeFeatureSchema.safeParse(documents.value[0]);
  if (object.success) return success(featureSets(object.data.spec.features));
  const { path, message } = firstFault(object.error);
  return fault(
    "failed",
    `${file}: neither the output of node-shim facts --features all, nor a NodeFeature: ${path}: ${message}`,
  );
}

interface CheckedLine {
  what: string;
  result: string;
}

const CHECKED: readonly TableColumn<CheckedLine>[] = [
  { head: "RULE", of: ({ what }) => what, rank: 0 },
  { head: "RESULT", of: ({ result }) => result, rank: 0 },
];

interface ResultLine {
  kind: string;
  key: string;
  value: string;
}

const RESULTS: readonly TableColumn<ResultLine>[] = [
  { head: "KIND", of: ({ kind }) => kind, rank: 0 },
  { head: "KEY", of: ({ key }) => key, rank: 0 },
  { head: "VALUE", of: ({ value }) => value, rank: 1 },
];

/** Renders what the rules result in, then what failed or is refused. */
function outcomeList(outcome: RulesOutcome): Shown {
  const ofTexts = (kind: string, values: Readonly<Record<string, string>>) =>
    Object.entries(values).map(([key, value]) => ({ kind, key, value }));
  const lines: ResultLine[] = [
    ...ofTexts("label", outcome.labels),
    ...ofTexts("annotation", outcome.annotations),
    ...ofTexts("resource", outcome.extendedResources),
    ...outcome.taints.map(({ key, value = "", effect }) => ({
      kind: "taint",
      key,
      value: `${value}:${effect}`,
    })),
    ...outcome.failed.map(({ rule, fault: value }) => ({ kind: "failed", key: rule, value })),
    ...outcome.refused.map(({ what, fault: value }) => ({ kind: "refused", key: what, value })),
  ];
  return listOf(lines, () => RESULTS, {
    nameOf: ({ key }) => key,
    above: () => `${outcome.matched.length} rules match\n`,
  });
}
