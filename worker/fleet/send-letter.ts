// Sends one message to a receiver, signed as Standard Webhooks has it (https://www.standardwebhooks.com). Follows no
// redirect, reads little of the answer, and never waits longer than its deadlines.
import { NOTIFICATION_LIMITS } from "../../shared/protocol/limits.ts";
import { printable } from "../../shared/protocol/printable.ts";
import type { PrivateWebhooks } from "../env.ts";
import { withDeadline } from "../kube/deadline.ts";
import { retryAfterMs } from "./alert-rules.ts";
import type { Letter } from "./letters.ts";
import type { ReceiverTarget } from "./receivers.ts";
import { webhookAddress } from "./webhook-address.ts";

export interface LetterOutcome {
  arrived: boolean;
  /** HTTP's; null: there was no answer. */
  status: number | null;
  /** How the answer begins, or why there is none. */
  answer: string;
  /** How long it asks to wait before the next attempt. */
  retryAfterMs: number;
}

/** How letters leave. */
export interface LetterSurroundings {
  /** Typically fetch. */
  send: (url: string, init: RequestInit) => Promise<Response>;
  allowed: PrivateWebhooks;
  nowMs: () => number;
  /** Of a request, until its answer begins. Typically LETTER_WITHIN_MS. */
  withinMs: number;
}

export const LETTER_WITHIN_MS = 10_000;
/** So much of that time again is waited for what the answer says. */
const ANSWER_SHARE = 0.2;

export async function sendLetter(
  { send, allowed, nowMs, withinMs }: LetterSurroundings,
  { url, authorization, secret }: ReceiverTarget,
  { message, body }: Pick<Letter, "message" | "body">,
): Promise<LetterOutcome> {
  const failed = (answer: string): LetterOutcome => ({
    arrived: false,
    status: null,
    answer,
    retryAfterMs: 0,
  });
  // The deployment may allow less than when the receiver was made.
  const address = webhookAddress(url, allowed);
  if (!address.ok) return failed(`the address is refused: ${address.error}`);
  const attempt = async (signal: AbortSignal): Promise<Response | string> => {
    try {
      const timestamp = String(Math.floor(nowMs() / 1000));
      const headers = {
        "content-type": "application/json",
        "user-agent": "rollcall",
        "webhook-id": message,
        "webhook-timestamp": timestamp,
        "webhook-signature": `v1,${await signature(secret, `${message}.${timestamp}.${body}`)}`,
        ...(authorization !== "" && { authorization }),
      };
      return await send(address.value, { method: "POST", headers, body, redirect: "manual", signal });
    } catch (error) {
      return String(error);
    }
  };
  const response = await withDeadline(withinMs, attempt, `no answer within ${withinMs / 1000} s`);
  if (typeof response === "string") return failed(response);
  const { ok: arrived, status, headers } = response;
  const wishedMs = retryAfterMs(headers.get("retry-after"), nowMs());
  const answer = printable(await beginning(response, withinMs * ANSWER_SHARE));
  return { arrived, status, answer, retryAfterMs: wishedMs };
}

/** HMAC-SHA-256 with what stands behind `whsec_`, in base64. */
async function signature(secret: string, signed: string): Promise<string> {
  const bytes = (text: string) => Uint8Array.from(text, (each) => each.charCodeAt(0));
  const raw = bytes(atob(secret.replace("whsec_", "")));
  const key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const mac = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(signed));
  return btoa(String.fromCharCode(...new Uint8Array(mac)));
}

/** What a receiver answers may be endless, late, or broken off: that decides nothing, since its status has come. */
async function beginning(response: Response, withinMs: number): Promise<string> {
  const most = NOTIFICATION_LIMITS.answerBytes;
  const reader = response.body?.getReader();
  if (!reader) return "";
  const decoder = new TextDecoder();
  let [text, read] = ["", 0];
  const readOn = async () => {
    while (read < most) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value.subarray(0, most - read), { stream: true });
      read += value.length;
    }
  };
  await withDeadline(withinMs, () => readOn().catch(() => undefined), undefined);
  // Nobody waits for it: what hangs may hang here as well.
  void reader.cancel().catch(() => undefined);
  return text;
}
