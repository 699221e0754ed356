// Reads the owner's own questions. NAME.yaml in --questions-dir describes one program, and the parameters that it may
// get.
import { constants, readdirSync } from "node:fs";
import { isAbsolute, normalize } from "node:path";
import { parse } from "yaml";
import * as z from "zod/mini";
import { compileExpression } from "../../shared/go/regexp.ts";
import { QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import type { Question } from "../../shared/protocol/question.ts";
import {
  answerBytesOf,
  isOwnName,
  OWN_PREFIX,
  type OwnName,
  type QuestionRow,
  QUESTIONS,
} from "../../shared/protocol/questions.ts";
import { visible } from "../../shared/protocol/printable.ts";
import { atMost, firstFault, plainText, within } from "../../shared/protocol/schema.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { codeOf, faultOf } from "../base/fault.ts";
import { openTrusted, trustedText } from "../base/ownership.ts";

/** The folder of the owner's own questions, if --questions-dir names no other. */
export const QUESTIONS_FOLDER = "/etc/rollcall/questions.d";

const LIMITS = {
  fileBytes: 16 * 1024,
  arguments: 64,
  parameters: 8,
  choices: 32,
  helpLength: 200,
} as const;

/** A question of the machine's owner. */
export interface OwnQuestion extends QuestionRow {
  name: OwnName;
  bytes: number;
  /** The absolute path of the program. */
  program: string;
  /** The program's arguments. `{NAME}` in one of them stands for the value of a parameter. */
  arguments: readonly string[];
  parameters: Readonly<Record<string, OwnParameter>>;
  /** The user as which the program runs; null for a user that exists only meanwhile. */
  user: string | null;
  isInBundle: boolean;
}

/** A valid question of the machine's owner. Each parameter has a value. */
export interface OwnAsked {
  name: OwnName;
  parameters: Readonly<Record<string, string>>;
  own: OwnQuestion;
}

/** Returns the bounds of a question's answer. */
export function boundsOf(question: Question | OwnAsked): { seconds: number; bytes: number } {
  if ("own" in question) return question.own;
  return { seconds: QUESTIONS[question.name].seconds, bytes: answerBytesOf(question.name) };
}

export type OwnQuestions = ReadonlyMap<OwnName, Result<OwnQuestion>>;

/** Makes the schema of a file. A function, because a shim without such questions needs no schema. */
function fileSchema() {
  const text = plainText(QUESTION_LIMITS.parameterLength);
  const given = { default: z.optional(text) };
  const number = z.int().check(z.minimum(0), z.maximum(999_999_999));
  const parameter = z.discriminatedUnion("type", [
    z.strictObject({
      type: z.literal("text"),
      pattern: text.check(z.minLength(1), z.refine(isPattern, "not a regular expression")),
      maxLength: z._default(within([1, QUESTION_LIMITS.parameterLength]), 256),
      ...given,
    }),
    z.strictObject({ type: z.literal("number"), min: z._default(number, 0), max: number, ...given }),
    z.strictObject({
      type: z.literal("choice"),
      of: z.array(text.check(z.minLength(1))).check(z.minLength(1), z.maxLength(LIMITS.choices)),
      ...given,
    }),
  ]);
  const name = z.string().check(z.regex(/^[a-z][a-z0-9-]{0,31}$/, "not a parameter's name"));
  return z.strictObject({
    description: plainText(LIMITS.helpLength).check(z.minLength(1)),
    program: text.check(
      z.refine((path) => isAbsolute(path) && normalize(path) === path, "not an absolute path"),
    ),
    arguments: z._default(z.array(text).check(z.maxLength(LIMITS.arguments)), []),
    parameters: z._default(
      z.record(name, parameter).check(atMost(LIMITS.parameters, `more than ${LIMITS.parameters} parameters`)),
      {},
    ),
    timeoutSeconds: z._default(within(QUESTION_LIMITS.ownSeconds), 10),
    limitBytes: z._default(within([1, QUESTION_LIMITS.answerBytes]), 64 * 1024),
    user: z.optional(z.string().check(z.regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,30}$/, "not the name of a user"))),
    bundle: z._default(z.boolean(), false),
  });
}

type OwnParameter = z.infer<ReturnType<typeof fileSchema>>["parameters"][string];

/** Reads the questions of these names. A file with a fault turns off its own question only. */
export function ownQuestions(folder: string, names: Iterable<OwnName>): OwnQuestions {
  return new Map([...names].map((name) => [name, readOwnQuestion(folder, name)]));
}

/** Reads the questions of a folder, whether they are on or not. None if the folder is missing. */
export function ownQuestionsIn(folder: string): OwnQuestions {
  let files: string[] = [];
  try {
    files = readdirSync(folder).sort();
  } catch {
    // Without a folder there are no questions.
  }
  const names = files.flatMap((file) => (file.endsWith(".yaml") ? `${OWN_PREFIX}${file.slice(0, -5)}` : []));
  return ownQuestions(folder, names.filter(isOwnName).slice(0, QUESTION_LIMITS.ownQuestions));
}

/** Reads one question. The error names the file, or the program that is not trusted. */
function readOwnQuestion(folder: string, name: OwnName): Result<OwnQuestion> {
  const path = `${folder}/${name.slice(OWN_PREFIX.length)}.yaml`;
  const text = trustedText(path, LIMITS.fileBytes);
  if (!text.ok) return failure(`${path} ${text.error}`);
  const parsed = parseOwnQuestion(name, text.value);
  if (!parsed.ok) return failure(`${path}: ${parsed.error}`);
  const fault = programFault(parsed.value.program);
  return fault === null ? parsed : failure(`${path}: program: ${fault}`);
}

/** Parses the text of a file. */
export function parseOwnQuestion(name: OwnName, text: string): Result<OwnQuestion> {
  let content: unknown;
  try {
    content = parse(text, { maxAliasCount: 0, logLevel: "error" });
  } catch (error) {
    return failure(`not YAML: ${faultOf(error).split("\n")[0]}`);
  }
  const parsed = fileSchema().safeParse(content);
  if (!parsed.success) {
    const { path, message } = firstFault(parsed.error);
    return failure(`${path === "" ? "" : `${path.slice(1).replaceAll("/", ".")}: `}${message}`);
  }
  const { description, timeoutSeconds, limitBytes, user = null, bundle, ...file } = parsed.data;
  const fault = parametersFault(file, bundle);
  if (fault !== null) return failure(fault);
  return success({
    ...file,
    name,
    help: description,
    usage: usageOf(file.parameters),
    isSafe: false,
    seconds: timeoutSeconds,
    bytes: limitBytes,
    user,
    isInBundle: bundle,
  });
}

/** Returns why the program must not run: other users can replace it, or it is no program. null if it may run. */
export function programFault(program: string): string | null {
  try {
    const opened = openTrusted(program, "file");
    if (!opened.ok) return `not trusted: ${opened.error}`;
    const { stats, close } = opened.value;
    close();
    const isProgram = stats.isFile() && (stats.mode & constants.S_IXUSR) !== 0;
    return isProgram ? null : `${program} is not an executable file`;
  } catch (error) {
    return `${program} cannot be read (${codeOf(error)})`;
  }
}

function parametersFault(
  { parameters, arguments: all }: Pick<OwnQuestion, "parameters" | "arguments">,
  isInBundle: boolean,
): string | null {
  for (const [name, parameter] of Object.entries(parameters)) {
    // Otherwise a wrong name in an argument would reach the program as it is.
    if (!all.some((argument) => argument.includes(`{${name}}`)))
      return `parameters.${name}: no argument has {${name}}`;
    if (parameter.default === undefined) {
      if (isInBundle) return `bundle: parameters.${name} has no default, which a bundle needs`;
      continue;
    }
    const fault = valueFault(parameter, parameter.default);
    if (fault !== null) return `parameters.${name}.default: ${fault}`;
  }
  return null;
}

function usageOf(parameters: OwnQuestion["parameters"]): string {
  const each = Object.entries(parameters).map(([name, parameter]) => {
    const value =
      parameter.type === "choice"
        ? parameter.of.join("|")
        : (parameter.default ?? parameter.type.toUpperCase());
    return parameter.default === undefined ? `${name}=${value}` : `[${name}=${value}]`;
  });
  return each.join(" ");
}

/** Returns lines with what `usage` lacks: the patterns of texts, and the bounds of numbers. */
export function patternLines({ parameters }: OwnQuestion): string[] {
  return Object.entries(parameters).flatMap(([name, parameter]) => {
    if (parameter.type === "text")
      return [`${name}: at most ${parameter.maxLength} characters that match ${parameter.pattern}`];
    return parameter.type === "number"
      ? [`${name}: a whole number from ${parameter.min} to ${parameter.max}`]
      : [];
  });
}

const askedSchema = z.record(z.string(), plainText(QUESTION_LIMITS.parameterLength));

/** Returns a valid question, with the defaults. The error is for the operator. */
export function ownAsked(own: OwnQuestion, asked: unknown): Result<OwnAsked> {
  const parsed = askedSchema.safeParse(asked);
  if (!parsed.success) return failure(`parameters: ${firstFault(parsed.error).message}`);
  const unknown = Object.keys(parsed.data).find((name) => !Object.hasOwn(own.parameters, name));
  if (unknown !== undefined) return failure(`${visible(unknown)}: unknown field`);
  const values: [string, string][] = [];
  for (const [name, parameter] of Object.entries(own.parameters)) {
    const value = Object.hasOwn(parsed.data, name) ? parsed.data[name] : parameter.default;
    if (value === undefined) return failure(`${name}: missing`);
    const fault = valueFault(parameter, value);
    if (fault !== null) return failure(`${name}: ${fault}`);
    values.push([name, value]);
  }
  return success({ name: own.name, parameters: Object.fromEntries(values), own });
}

/** Returns why the parameter does not allow the value; null if it does. */
function valueFault(parameter: OwnParameter, value: string): string | null {
  if (parameter.type === "choice")
    return parameter.of.includes(value) ? null : `not one of ${parameter.of.join(", ")}`;
  if (parameter.type === "text") {
    // A program must not take a value for one of its options.
    if (value.startsWith("-")) return 'begins with "-"';
    if (value.length > parameter.maxLength) return `more than ${parameter.maxLength} characters`;
    return isMatch(parameter.pattern, value) ? null : `does not match ${parameter.pattern}`;
  }
  const { min, max } = parameter;
  const isNumber = /^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max;
  return isNumber ? null : `not a whole number from ${min} to ${max}`;
}

const anchored = (pattern: string) => compileExpression(`\\A(?:${pattern})\\z`);

/** Reports whether a pattern is valid alone: `a)|(b` would be valid only between the brackets. */
const isPattern = (pattern: string) => compileExpression(pattern).ok && anchored(pattern).ok;

/** Matches a whole text, in a time that is linear in its length. */
function isMatch(pattern: string, text: string): boolean {
  const whole = anchored(pattern);
  return whole.ok && whole.value.match(text) !== null;
}
