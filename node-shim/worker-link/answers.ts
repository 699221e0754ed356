// Reads the Worker's answers to a machine. Another server may answer in the Worker's place, so only known fields are
// used, within the protocol's limits, and no text has a control character.
import * as z from "zod/mini";
import type {
  EnrolmentAnswer,
  LeaveAnswer,
  Problem,
  ReportAnswer,
  RotationAnswer,
  UpgradeAnswer,
} from "../../shared/protocol/answers.ts";
import { RELEASE } from "../../shared/protocol/administration-api.ts";
import { DROP_IN_LIMITS, LIMITS, ROLLOUT_LIMITS, SETTINGS_LIMITS } from "../../shared/protocol/limits.ts";
import { shownText } from "../../shared/protocol/printable.ts";
import { clearingSchema } from "../../shared/protocol/problems.ts";
import { plainText } from "../../shared/protocol/schema.ts";

/** Returns the answer in a parsed body; null if the body is another one. */
export type ReadAnswer<Answer> = (body: unknown) => Answer | null;

/** Newer Workers may have other values of an enumeration, which appear as text. */
const reads =
  <Answer>(schema: z.ZodMiniType): ReadAnswer<Answer> =>
  (body) => {
    const read = schema.safeParse(body);
    return read.success ? (read.data as Answer) : null;
  };

const shown = (length?: number) => z.string().check(z.overwrite((text) => shownText(text, length)));
/** A text that the machine stores or sends back unchanged, such as a kid, a ticket or a challenge. */
const carried = plainText(LIMITS.textLength);

/** A wait in milliseconds. The longest is the longest report interval. */
export const waitMs = z
  .number()
  .check(z.minimum(0), z.maximum(SETTINGS_LIMITS.nodeStatusUpdateFrequencyMs[1]));

export const readReportAnswer = reads<ReportAnswer>(
  z.object({
    phase: shown(LIMITS.idLength),
    message: z.optional(shown()),
    ready: z.boolean(),
    ticket: carried,
    reportInMs: waitMs,
    factsRefused: z.optional(z.object({ path: shown(), message: shown() })),
    workerVersion: z.optional(shown(ROLLOUT_LIMITS.versionLength)),
    /** The link checks the offer: an unusable offer must not cost the answer. */
    socket: z.optional(z.unknown()),
    /** http-questions.ts checks them, for the same reason. */
    questions: z.optional(z.unknown()),
    /** A mistake in them must not cost the answer. */
    clears: z.optional(z.catch(z.array(clearingSchema).check(z.maxLength(DROP_IN_LIMITS.conditions)), [])),
  }),
);

const rotation = { kid: carried.check(z.minLength(1)) };
export const readRotationAnswer = reads<RotationAnswer>(z.object(rotation));
export const readEnrolmentAnswer = reads<EnrolmentAnswer>(z.object({ ...rotation, ticket: carried }));
export const readLeaveAnswer = reads<LeaveAnswer>(z.object({ left: z.literal(true) }));

/** The version becomes an argument of apt-get. */
const version = z.string().check(z.maxLength(ROLLOUT_LIMITS.versionLength), z.regex(RELEASE));
export const readUpgradeAnswer = reads<UpgradeAnswer>(
  z.union([z.object({ version }), z.object({ version: z.null(), why: shown() })]),
);

/** Reads a problem document. Its status is the answer's, which the caller sets. */
export const readProblem = reads<Omit<Problem, "status">>(
  z.object({
    reason: shown(LIMITS.idLength),
    title: z._default(shown(), ""),
    detail: z._default(shown(), ""),
    pointer: z.optional(shown()),
    ticket: z.optional(carried),
    factsWanted: z.optional(z.boolean()),
    challenge: z.optional(carried),
  }),
);
