// What the form for a join token says, as the body of POST /v1/tokens. Says what a field expects; the Worker decides.
import type { TokenRequest } from "../../../shared/protocol/join-tokens.ts";
import { failure, type Result, success } from "../../../shared/result.ts";

/** The form's fields, as they were typed. */
export interface TokenForm {
  names: string;
  uses: string;
  expiresInSeconds: string;
  isRejoin: boolean;
  /** Separated by spaces or commas; "": those of the deployment. */
  roles: string;
  /** One `key=value` in each line. */
  labels: string;
  /** One `key=value:Effect` or `key:Effect` in each line. */
  taints: string;
  isWithoutFactsOnlyTaint: boolean;
}

/** Which field is wrong, and what it expects. */
export interface FieldFault {
  field: keyof TokenForm;
  message: string;
}

const TAINT = /^([^=:\s]+)(?:=([^:\s]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/;
const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

export function tokenWish(form: TokenForm): Result<Partial<TokenRequest>, FieldFault> {
  const names = form.names.trim();
  if (names === "") return failure({ field: "names", message: "a name, or a pattern such as edge-*" });
  const uses = form.isRejoin ? 1 : Number(form.uses);
  if (!Number.isSafeInteger(uses) || uses < 1)
    return failure({ field: "uses", message: "a whole number from 1" });
  if (form.isRejoin && names.includes("*"))
    return failure({ field: "names", message: "one name: to rejoin is for one machine" });
  const labels: Record<string, string> = {};
  for (const line of lines(form.labels)) {
    const [, key, value] = /^([^=\s]+)=(\S*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined)
      return failure({ field: "labels", message: `key=value in each line, not ${line}` });
    labels[key] = value;
  }
  const taints: { key: string; value?: string; effect: "NoSchedule" }[] = [];
  for (const line of lines(form.taints)) {
    const [, key, value, effect] = TAINT.exec(line) ?? [];
    if (key === undefined)
      return failure({
        field: "taints",
        message: `key=value:NoSchedule (or PreferNoSchedule, NoExecute) in each line, not ${line}`,
      });
    taints.push({ key, ...(value && { value }), effect: effect as "NoSchedule" });
  }
  const roles = form.roles.split(/[\s,]+/).filter((role) => role !== "");
  return success({
    names,
    uses,
    expiresInSeconds: Number(form.expiresInSeconds),
    ...(form.isRejoin && { rejoin: true }),
    ...(form.isWithoutFactsOnlyTaint && { withoutFactsOnlyTaint: true }),
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(taints.length > 0 && { taints }),
    ...(roles.length > 0 && { roles }),
  });
}
