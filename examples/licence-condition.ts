import { setCondition } from "../shared/kubernetes/conditions.ts";
import type { CustomSetter } from "../shared/setters/custom.ts";

/** A machine whose software has a licence: the condition LicenceExpired, and an event when it changes. */
export const licenceCondition: CustomSetter =
  ({ custom, now, recordEvent }) =>
  (node) => {
    const until = custom["licenceUntil"];
    if (typeof until !== "string" || Number.isNaN(Date.parse(until))) {
      return "the custom facts have no time in licenceUntil";
    }
    const expired = Date.parse(now) >= Date.parse(until);
    const reason = expired ? "LicenceHasExpired" : "LicenceIsValid";
    const message = `the licence ${expired ? "expired on" : "is valid until"} ${until}`;
    const status = expired ? "True" : "False";
    const changed = setCondition(node.status, now, { type: "LicenceExpired", status, reason, message });
    if (changed) recordEvent(expired ? "Warning" : "Normal", reason, message);
    return null;
  };
