// Parses a configuration file of node-problem-detector for its log monitors and custom plugins. Two additional fields
// end a condition: `healthyPattern` and `for`. node-problem-detector ignores unknown fields, so that both can use a file.
import * as z from "zod/mini";
import { parseDuration } from "../../../shared/go/duration.ts";
import { compileExpression, type Expression } from "../../../shared/go/regexp.ts";
import { type DropIn, dropInSchema } from "../../../shared/protocol/drop-ins.ts";
import { printableTexts } from "../../../shared/protocol/printable.ts";
import { firstFault } from "../../../shared/protocol/schema.ts";
import { failure, type Result, success, valueOr } from "../../../shared/result.ts";

/** The most rules of a file, lines of a buffer, and programs that run at a time. */
const MOST_RULES = 256;
const MOST_BUFFERED = 100;
const MOST_PROGRAMS = 8;
/** The seconds after which the Node's condition becomes Unknown, unless the monitor still reads its log. */
const EXPIRES_IN_SECONDS = 600;

/** Parses Go's text of a duration into milliseconds. */
const duration = z.pipe(
  z.string().check(z.refine((text) => parseDuration(text).ok, "not a duration such as 5m")),
  z.transform((text) => valueOr(parseDuration(text), 0)),
);
const texts = z._default(z.record(z.string(), z.string()), {});

const conditionSchema = z.object({
  type: z.string(),
  reason: z.string(),
  message: z.string(),
  healthyPattern: z.optional(z.string()),
  for: z.optional(duration),
});

const ruleSchema = z.object({
  type: z.enum(["temporary", "permanent"]),
  condition: z._default(z.string(), ""),
  reason: z.string().check(z.regex(/^[A-Z][A-Za-z0-9]{0,127}$/, "must be one word in CamelCase")),
  pattern: z.string(),
  patternGeneratedMessageSuffix: z._default(z.string(), ""),
});

const fileSchema = z.object({
  plugin: z.enum(["filelog", "journald", "kmsg"], "must be filelog, journald, kmsg or custom"),
  pluginConfig: texts,
  skipList: z._default(z.array(z.string()), []),
  logPath: z._default(z.string(), ""),
  lookback: z._default(duration, 0),
  delay: z._default(duration, 0),
  bufferSize: z._default(z.int().check(z.minimum(0), z.maximum(MOST_BUFFERED)), 0),
  source: z._default(z.string(), ""),
  conditions: z._default(z.array(conditionSchema), []),
  rules: z._default(z.array(ruleSchema).check(z.maxLength(MOST_RULES)), []),
  metricsReporting: z.optional(z.boolean()),
});

const pluginFileSchema = z.object({
  plugin: z.literal("custom"),
  pluginConfig: z.prefault(
    z.object({
      invoke_interval: z._default(duration, 30_000),
      timeout: z._default(duration, 5000),
      max_output_length: z._default(z.int().check(z.minimum(1), z.maximum(1024)), 80),
      concurrency: z._default(z.int().check(z.minimum(1), z.maximum(MOST_PROGRAMS)), 3),
      enable_message_change_based_condition_update: z._default(z.boolean(), false),
      skip_initial_status: z._default(z.boolean(), false),
    }),
    {},
  ),
  conditions: z._default(z.array(conditionSchema), []),
  rules: z
    .array(
      z.object({
        ...ruleSchema.shape,
        pattern: z.optional(z.string()),
        path: z.string().check(z.regex(/^\//, "must be an absolute path")),
        args: z._default(z.nullable(z.array(z.string())), []),
        timeout: z.optional(duration),
      }),
    )
    .check(z.maxLength(MOST_RULES)),
  metricsReporting: z.optional(z.boolean()),
});

/** A condition while nothing is wrong. */
export type HealthyCondition = DropIn["conditions"][number] & { status: "False" };

export interface ConditionConfig {
  healthy: HealthyCondition;
  /** Ends the condition. */
  healthyPattern?: Expression;
  /** Milliseconds after the last match, after which the condition ends; null: it lasts until the next boot. */
  forMs: number | null;
}

export interface LogRule {
  /** The type of the condition; null for a temporary problem, which is an event only. */
  condition: string | null;
  reason: string;
  expression: Expression;
  /** The text after the message. */
  suffix: string;
}

export interface LogMonitorConfig {
  plugin: "filelog" | "journald" | "kmsg";
  pluginConfig: Readonly<Record<string, string>>;
  skipList: readonly string[];
  logPath: string;
  lookbackMs: number;
  delayMs: number;
  bufferSize: number;
  conditions: readonly ConditionConfig[];
  rules: readonly LogRule[];
  /** The fields of the file that have no effect, each with the reason. */
  notes: readonly string[];
}

export interface PluginRule {
  /** The type of the condition; null for a temporary problem, which is an event only. */
  condition: string | null;
  reason: string;
  /** The absolute path of the program. */
  path: string;
  args: readonly string[];
  timeoutMs: number;
}

export interface PluginMonitorConfig {
  plugin: "custom";
  everyMs: number;
  /** The most bytes of a program's output that count. */
  outputLength: number;
  concurrency: number;
  /** Whether another message of a condition that is True is a change. */
  byMessage: boolean;
  /** Whether the conditions are reported before the programs have run. */
  isReportedFirst: boolean;
  conditions: readonly ConditionConfig[];
  rules: readonly PluginRule[];
  notes: readonly string[];
}

/** Parses a file's text. A failure names the field. */
export function parseMonitor(text: string): Result<LogMonitorConfig | PluginMonitorConfig> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return failure(`is not JSON: ${(error as Error).message}`);
  }
  if (typeof json !== "object" || json === null || Array.isArray(json))
    return failure("must be a JSON object");
  if (!("plugin" in json)) return failure(NO_PLUGIN);
  return json.plugin === "custom"
    ? read(pluginFileSchema, json, pluginMonitor)
    : read(fileSchema, json, compiled);
}

const NO_PLUGIN =
  "/plugin: is missing: name files of system-log-monitor and custom-plugin-monitor; --send-usage replaces system-stats-monitor";

function read<Schema extends z.ZodMiniType, T>(
  schema: Schema,
  json: unknown,
  use: (file: z.infer<Schema>) => Result<T>,
): Result<T> {
  const parsed = schema.safeParse(json);
  if (parsed.success) return use(parsed.data);
  const { path, message } = firstFault(parsed.error);
  return failure(`${path}: ${message}`);
}

const METRICS = "metricsReporting has no effect: the shim serves no metrics";

/** Returns the fault of a permanent rule whose condition the file does not list; null for another rule. */
function conditionFault(
  rule: { type: string; condition: string },
  index: number,
  conditions: readonly { type: string }[],
): string | null {
  const isListed = rule.type !== "permanent" || conditions.some(({ type }) => type === rule.condition);
  return isListed
    ? null
    : `/rules/${index}/condition: "${rule.condition}" is not one of the file's conditions`;
}

function pluginMonitor(file: z.infer<typeof pluginFileSchema>): Result<PluginMonitorConfig> {
  const { pluginConfig, metricsReporting } = file;
  const conditions = conditionsOf(file.conditions);
  if (!conditions.ok) return conditions;
  const rules: PluginRule[] = [];
  for (const [index, rule] of file.rules.entries()) {
    const fault = conditionFault(rule, index, file.conditions);
    if (fault !== null) return failure(fault);
    const { type, condition, reason, path, args, timeout = Infinity } = rule;
    rules.push({
      condition: type === "permanent" ? condition : null,
      reason,
      path,
      args: args ?? [],
      timeoutMs: Math.min(timeout, pluginConfig.timeout),
    });
  }
  return success({
    plugin: "custom",
    everyMs: Math.max(1000, pluginConfig.invoke_interval),
    outputLength: pluginConfig.max_output_length,
    concurrency: pluginConfig.concurrency,
    byMessage: pluginConfig.enable_message_change_based_condition_update,
    isReportedFirst: !pluginConfig.skip_initial_status,
    conditions: conditions.value,
    rules,
    notes: metricsReporting ? [METRICS] : [],
  });
}

function compiled(file: z.infer<typeof fileSchema>): Result<LogMonitorConfig> {
  const { plugin, pluginConfig, skipList, logPath, metricsReporting } = file;
  const conditions = conditionsOf(file.conditions);
  if (!conditions.ok) return conditions;
  const rules: LogRule[] = [];
  for (const [index, rule] of file.rules.entries()) {
    const expression = atTheEnd(rule.pattern);
    if (!expression.ok) return failure(`/rules/${index}/pattern: ${expression.error}`);
    const fault = conditionFault(rule, index, file.conditions);
    if (fault !== null) return failure(fault);
    const condition = rule.type === "permanent" ? rule.condition : null;
    const { reason, patternGeneratedMessageSuffix: suffix } = rule;
    rules.push({ condition, reason, expression: expression.value, suffix });
  }
  return success({
    plugin,
    pluginConfig,
    skipList,
    logPath,
    lookbackMs: file.lookback,
    delayMs: file.delay,
    bufferSize: file.bufferSize || 10,
    conditions: conditions.value,
    rules,
    notes: metricsReporting ? [METRICS] : [],
  });
}

/** Compiles a pattern that must match to the end of a line. */
const atTheEnd = (pattern: string) => {
  // The expression alone names faults by the operator's text.
  const alone = compileExpression(pattern);
  return alone.ok ? compileExpression(`(?:${pattern})\\z`) : alone;
};

function conditionsOf(given: z.infer<typeof conditionSchema>[]): Result<ConditionConfig[]> {
  const healthy = given.map(({ type, reason, message }) => ({
    type,
    status: "False",
    reason,
    message,
    expiresInSeconds: EXPIRES_IN_SECONDS,
  }));
  // The conditions are reported as those of a drop-in, so that they have the same limits.
  return read(dropInSchema, printableTexts({ conditions: healthy }), ({ conditions }) => {
    const found: ConditionConfig[] = [];
    for (const [index, condition] of conditions.entries()) {
      const { healthyPattern, for: forMs = null } = given[index]!;
      const expression = healthyPattern === undefined ? null : atTheEnd(healthyPattern);
      if (expression?.ok === false)
        return failure(`/conditions/${index}/healthyPattern: ${expression.error}`);
      found.push({
        healthy: { ...condition, status: "False" },
        ...(expression && { healthyPattern: expression.value }),
        forMs,
      });
    }
    return success(found);
  });
}
