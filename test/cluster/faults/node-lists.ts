// The Worker's lists and watches of Nodes among what it asks, and how an apiserver refuses one.
import type { Asked } from "./proxy.ts";

/** `more`: a further page of a list. */
type Kind = "list" | "more" | "watch";
type Question = Pick<Asked, "line" | "query">;

/** undefined: it is about something else. */
export function kindOf({ line, query }: Question): Kind | undefined {
  if (line !== "GET /api/v1/nodes") return undefined;
  if (query.has("watch")) return "watch";
  return query.has("continue") ? "more" : "list";
}

export function kindsOf(asked: readonly Question[]): Kind[] {
  return asked.map(kindOf).filter((kind) => kind !== undefined);
}

/** As an apiserver refuses. */
export function refusal(code: number, reason: string, headers: Record<string, string> = {}) {
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message: reason };
  return { code, text: JSON.stringify(status), headers };
}
