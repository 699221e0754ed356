// The event about a cluster token that is not renewed: of the ServiceAccount, in its namespace.
import { makeEvent } from "../../shared/events/events.ts";
import type { EventReason } from "../../shared/kubernetes/event-reasons.ts";
import type { Event } from "../../shared/kubernetes/types.ts";
import type { ServiceAccount } from "../kube/token-life.ts";
import type { RenewalFailure } from "./kept-chain.ts";

const NOT_RENEWED: EventReason = "TokenNotRenewed";

/** Named after the first attempt that failed: sent again, it is the same event. */
export function renewalEvent(
  { namespace, name }: ServiceAccount,
  deployment: string,
  { message, sinceMs }: RenewalFailure,
): Event | null {
  const account = { apiVersion: "v1", kind: "ServiceAccount", namespace, name };
  const source = { component: "rollcall", host: deployment };
  const text = `The Worker's token is not renewed: ${message}`;
  const fallbackName = () => `rollcall.${sinceMs}`;
  return makeEvent(account, source, "Warning", NOT_RENEWED, text, sinceMs * 1000, fallbackName);
}
