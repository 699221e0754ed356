// What a gateway says on a socket: its frames (shared/protocol/frames.ts), checked. Sends nothing.
import * as z from "zod/mini";
import {
  AGAIN_REASONS,
  CLOSING_REASONS,
  type ClosingReason,
  type GatewayFrame,
} from "../../shared/protocol/frames.ts";
import { failure, type Result, success } from "../../shared/result.ts";

/** The longest wait that a frame may ask for: a machine must come back without being restarted. */
const wait = z.number().check(z.minimum(0), z.maximum(3_600_000));

const SCHEMAS: Readonly<Record<GatewayFrame["type"], z.ZodMiniType>> = {
  "report-answer": z.object({
    status: z.int(),
    body: z.unknown(),
    session: z.optional(z.object({ key: z.string(), nonce: z.string() })),
    comeBackWithinMs: wait,
  }),
  answer: z.object({ n: z.int(), nonce: z.string(), nextInMs: wait }),
  again: z.object({ reason: z.enum(AGAIN_REASONS) }),
  "report-now": z.object({}),
  closing: z.object({ reason: z.enum(CLOSING_REASONS), comeBackInMs: wait }),
  left: z.object({}),
};

/** null: a kind of frame that a later Worker may send, and this shim passes over. */
export function gatewayFrame(text: string): Result<GatewayFrame | null> {
  let frame: Partial<GatewayFrame> | null;
  try {
    frame = JSON.parse(text) as Partial<GatewayFrame> | null;
  } catch {
    return failure("a frame without JSON");
  }
  const type = frame?.type;
  if (typeof type !== "string") return failure("a frame without a type");
  if (!Object.hasOwn(SCHEMAS, type)) return success(null);
  const isFrame = SCHEMAS[type].safeParse(frame).success;
  return isFrame ? success(frame as GatewayFrame) : failure(`a frame (${type}) of another form`);
}

/** Behind "the gateway has closed it: ". */
export const CLOSING_TEXTS: Readonly<Record<ClosingReason, string>> = {
  "bad frame": "it could not read a frame",
  "too often": "frames came too often",
  "no report": "no report was accepted in time",
  replaced: "this machine has opened another one",
  silent: "nothing was heard of this machine",
  moved: "another gateway is this machine's now",
  refused: "this machine's key is not accepted any more",
};
