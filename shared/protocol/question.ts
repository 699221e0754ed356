// Defines the schema of a question: a name of QUESTIONS and its parameters, which are texts in every message.
import * as z from "zod/mini";
import { parseDuration } from "../go/duration.ts";
import { valueOr } from "../result.ts";
import { QUESTION_LIMITS } from "./limits.ts";
import type { QuestionName } from "./questions.ts";
import { plainText, within } from "./schema.ts";

const text = (most: number = QUESTION_LIMITS.parameterLength) => plainText(most).check(z.minLength(1));

const wholeNumber = (bounds: readonly [number, number]) =>
  z.pipe(
    z.pipe(text().check(z.regex(/^\d{1,9}$/, "not a whole number")), z.transform(Number)),
    within(bounds),
  );

/** A duration as Go writes it. The result is in seconds. */
const since = z.pipe(
  z.pipe(
    text(),
    z.transform((duration) => Math.ceil(valueOr(parseDuration(duration), 0) / 1000)),
  ),
  within(QUESTION_LIMITS.sinceSeconds),
);

/** systemd's own characters of a unit's name. A name never begins like an option, and has no pattern. */
const unit = text(QUESTION_LIMITS.unitLength).check(
  z.regex(/^[A-Za-z0-9:_.@\\][-A-Za-z0-9:_.@\\]*$/, "not the name of a unit"),
);

/** An absolute path in its one form, so that it can be compared with another one. */
const path = text().check(
  z.refine(
    (value) =>
      value.startsWith("/") &&
      value
        .slice(1)
        .split("/")
        .every((name) => !["", ".", ".."].includes(name)),
    "not an absolute path without . and ..",
  ),
);

/** The ID of a container, or its beginning. */
const container = text(QUESTION_LIMITS.containerLength).check(
  z.regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, "not the ID of a container"),
);

/** The lines that an answer has. `grep` is a part of a line: a regular expression could take forever. */
const newest = {
  lines: z._default(wholeNumber(QUESTION_LIMITS.lines), 100),
  grep: z.optional(text(QUESTION_LIMITS.grepLength)),
};
export type Newest = z.infer<z.ZodMiniObject<typeof newest>>;

const question = <Name extends QuestionName, Parameters extends z.ZodMiniType>(
  name: Name,
  parameters: Parameters,
) => z.strictObject({ name: z.literal(name), parameters });

const logs = z
  .strictObject({
    unit: z.optional(unit),
    kernel: z.optional(z.literal("yes")),
    since: z.optional(since),
    ...newest,
  })
  .check(
    z.refine(({ unit, kernel }) => (unit === undefined) !== (kernel === undefined), "pass unit or kernel"),
  );

const most = {
  by: z._default(z.enum(["cpu", "memory", "disk"]), "cpu"),
  top: z._default(wholeNumber(QUESTION_LIMITS.top), 20),
};
const nothing = z.strictObject({});

export const questionSchema = z.discriminatedUnion("name", [
  question("diagnosis", nothing),
  question("logs", logs),
  question("follow", logs),
  question("container-logs", z.strictObject({ container, ...newest })),
  question("files", z.strictObject({ path, ...newest })),
  question("commands", z.strictObject(most)),
  question("processes", z.strictObject(most)),
  question("disks", nothing),
  question(
    "folders",
    z.strictObject({ path: z._default(z.union([z.literal("/"), path]), "/"), top: most.top }),
  ),
  question("network", nothing),
  question("units", z.strictObject({ unit: z.optional(unit) })),
  question("runtime", nothing),
  question("containers", z.strictObject({ by: z._default(z.enum(["cpu", "memory"]), "cpu"), top: most.top })),
  question("hardware", nothing),
  question("boots", nothing),
  question("questions", nothing),
  question("bundle", nothing),
]);

/** A valid question. Its parameters are parsed. */
export type Question = z.infer<typeof questionSchema>;
export type ParametersOf<Name extends QuestionName> = Extract<Question, { name: Name }>["parameters"];
