// What runs at Cloudflare now under a Worker's name, as wrangler says it. Changes nothing.
import * as z from "zod/mini";
import type { OperatorFault } from "../operator/fault.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { isNoSuchWorker, type Wrangler, wranglerFault } from "./wrangler-run.ts";

export interface RunningVersion {
  id: string;
  createdAt: string;
  /** As this program says it of each version: `rollcall 0.1.0`. */
  message: string | undefined;
  /** What its code and static files come to; undefined: another program has deployed it. */
  contents: string | undefined;
  /** The last migration of its Durable Object classes; undefined: not said. */
  migrationTag: string | undefined;
  classes: string[];
  /** As they were set; a number as JSON has it. */
  variables: Record<string, string>;
  secrets: string[];
}

/** null: there is no such Worker. */
export type Deployed = RunningVersion | null;

const deploymentSchema = z.object({
  versions: z.array(z.object({ version_id: z.string(), percentage: z.number() })),
});

const versionSchema = z.object({
  id: z.string(),
  metadata: z.object({ created_on: z.string() }),
  annotations: z.optional(z.record(z.string(), z.unknown())),
  resources: z.object({
    bindings: z.optional(z.array(z.looseObject({ type: z.string(), name: z.string() }))),
    script_runtime: z.optional(z.object({ migration_tag: z.optional(z.string()) })),
  }),
});

const INCOMPREHENSIBLE: OperatorFault = {
  reason: "failed",
  says: "what wrangler says of the deployment cannot be understood\n  → npm ci, so that it is the version that the project has",
};

/** `configuration`: the generated file, which names Worker and account. */
export async function readDeployed(
  wrangler: Wrangler,
  configuration: string,
): Promise<Result<Deployed, OperatorFault>> {
  const of = ["--json", "--config", configuration];
  const status = await wrangler(["deployments", "status", ...of]);
  if (isNoSuchWorker(status)) return success(null);
  if (status.code !== 0) return failure(wranglerFault("asking what is deployed", status));
  const deployment = deploymentSchema.safeParse(parseJson(status.stdout));
  const largest = deployment.data?.versions.toSorted((a, b) => b.percentage - a.percentage)[0];
  if (largest === undefined) return failure(INCOMPREHENSIBLE);
  const version = await wrangler(["versions", "view", largest.version_id, ...of]);
  if (version.code !== 0) return failure(wranglerFault("asking what is deployed", version));
  const read = versionSchema.safeParse(parseJson(version.stdout));
  return read.success ? success(runningVersion(read.data)) : failure(INCOMPREHENSIBLE);
}

function runningVersion({
  id,
  metadata,
  annotations,
  resources,
}: z.infer<typeof versionSchema>): RunningVersion {
  const { bindings = [], script_runtime: runtime } = resources;
  const textOf = (value: unknown) => (typeof value === "string" ? value : undefined);
  const ofType = (type: string) => bindings.filter((binding) => binding.type === type);
  const plain = ofType("plain_text").map(({ name, text }) => [name, textOf(text) ?? ""] as const);
  const json = ofType("json").map(({ name, json: value }) => [name, JSON.stringify(value)] as const);
  return {
    id,
    createdAt: metadata.created_on,
    message: textOf(annotations?.["workers/message"]),
    contents: textOf(annotations?.["workers/tag"]),
    migrationTag: runtime?.migration_tag,
    classes: ofType("durable_object_namespace").flatMap(({ class_name: name }) => textOf(name) ?? []),
    variables: Object.fromEntries([...plain, ...json]),
    secrets: ofType("secret_text").map(({ name }) => name),
  };
}

/** Wrangler may say something before it. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.slice(Math.max(0, text.search(/^[{[]/m))));
  } catch {
    return undefined;
  }
}
