// Answers on the wire: JSON, as Go writes it, and a few plain texts. Knows no kind.
import type { Status } from "../../../../shared/kubernetes/types.ts";

const escapes: Record<string, string> = {
  "<": "\\u003c",
  ">": "\\u003e",
  "&": "\\u0026",
  "\u2028": "\\u2028",
  "\u2029": "\\u2029",
};

/** JSON that is safe within HTML, as encoding/json writes it: element keys of managedFields depend on it. */
export function escapeHtml(json: string): string {
  return json.replaceAll(/[<>&\u2028\u2029]/g, (letter) => escapes[letter] ?? letter);
}

function respond(code: number, text: string, contentType: string): Response {
  const bytes = Buffer.from(text);
  return new Response(bytes, {
    status: code,
    headers: {
      "content-type": contentType,
      "content-length": String(bytes.length),
      "cache-control": "no-cache, private",
    },
  });
}

export function answerBody(code: number, body: object): Response {
  return respond(code, `${escapeHtml(JSON.stringify(body))}\n`, "application/json");
}

export function answerStatus(status: Status): Response {
  const response = answerBody(status.code ?? 500, status);
  const seconds = status.details?.retryAfterSeconds ?? 0;
  if (seconds > 0) response.headers.set("retry-after", String(seconds));
  return response;
}

export function answerText(code: number, text: string): Response {
  return respond(code, text, "text/plain; charset=utf-8");
}

/** For a path that is not served: upstream answers it without a Status. */
export function answerNothing(): Response {
  return answerText(404, "404 page not found\n");
}
