// Explains an answer by Cloudflare's edge, Access, a Tunnel or another proxy instead of the apiserver.
import type { ApiError } from "../../shared/kubernetes/api-error.ts";

/** The status and headers of an answer. */
type Answer = Pick<Response, "status" | "headers">;

interface Meaning {
  says: string;
  cure: string;
}

const SERVICE_TOKEN = "KUBE_ACCESS_CLIENT_ID and KUBE_ACCESS_CLIENT_SECRET";
const TUNNEL_LOG = "kubectl logs -n rollcall-way deployment/cloudflared";

const ASKS_FOR_A_LOGIN: Meaning = {
  says: "Cloudflare Access asks for a login",
  cure:
    `set ${SERVICE_TOKEN} to an active service token, and have the Access application of KUBE_URL's hostname let ` +
    "it in by a policy with the action Service Auth",
};

const REDIRECTED: Meaning = {
  says: "a redirect, which is not followed",
  cure: "set KUBE_URL to where the apiserver itself answers: the cluster's token is sent nowhere else",
};

const NO_TUNNEL: Meaning = {
  says: "no cloudflared is connected to the Tunnel",
  cure: `see that cloudflared runs and reaches Cloudflare (${TUNNEL_LOG}), and that KUBE_URL's hostname is the Tunnel's`,
};

const BEHIND_TUNNEL: Meaning = {
  says: "what is before the apiserver does not reach it",
  cure:
    `see the Tunnel's own log (${TUNNEL_LOG}): is the service the apiserver's address, and has the authority in caPool ` +
    "signed its certificate",
};

const TOO_LATE: Meaning = {
  says: "the apiserver did not answer what is before it in time",
  cure: "see the apiserver's /readyz?verbose and its load, and the network between it and cloudflared",
};

/** Explanations by Cloudflare's error code, or by an HTTP status that an apiserver sends only with a Status. */
const MEANINGS: Readonly<Record<number, Meaning>> = {
  401: {
    says: "Cloudflare Access, or another proxy, does not accept the credentials",
    cure: `set ${SERVICE_TOKEN}: the service token has ended, was turned off or rotated, or was copied wrongly`,
  },
  403: {
    says: "Cloudflare Access, or another proxy, does not let the request through",
    cure:
      "have a policy with the action Service Auth let the service token in, in the Access application of KUBE_URL's " +
      "hostname; see that no firewall or bot rule of the zone matches that hostname",
  },
  404: {
    says: "the server there does not have the apiserver's paths",
    cure: "see that KUBE_URL's hostname is one of the Tunnel's, and that it ends with the path under which the apiserver answers",
  },
  429: {
    says: "a limit that is not the apiserver's",
    cure: "except KUBE_URL's hostname from the zone's rate limits",
  },
  502: BEHIND_TUNNEL,
  503: BEHIND_TUNNEL,
  504: TOO_LATE,
  520: BEHIND_TUNNEL,
  521: BEHIND_TUNNEL,
  522: TOO_LATE,
  523: BEHIND_TUNNEL,
  524: TOO_LATE,
  525: {
    says: "no TLS with what answers at KUBE_URL",
    cure: "see that KUBE_URL's host and port speak TLS 1.2 or newer, with a certificate for that name",
  },
  526: {
    says: "the certificate of what answers at KUBE_URL is signed by no authority that Cloudflare trusts",
    cure: "use a Tunnel, which trusts the cluster's own authority, or a certificate of a public one: docs/apiserver.md",
  },
  530: NO_TUNNEL,
  1015: {
    says: "a rate limit of the zone",
    cure: "except KUBE_URL's hostname from the zone's rate limits",
  },
  1016: {
    says: "KUBE_URL's hostname leads to a Tunnel or an address that is not there",
    cure: "see the DNS record of KUBE_URL's hostname: it is a CNAME to TUNNEL-ID.cfargotunnel.com",
  },
  1033: NO_TUNNEL,
};

/** The statuses that an overloaded or stopping apiserver sends in plain text. */
const PLAIN_OF_THE_APISERVER = new Set([429, 503, 504]);

const A_PAGE: Meaning = {
  says: "a page in place of an object",
  cure: "set KUBE_URL to the apiserver: something else answers at that hostname",
};

/** Returns true if no server has the request's path. An apiserver answers so for an API group that it does not have. */
export function isWithoutPath(error: ApiError): boolean {
  return error.kind === "unanswered" && error.message.startsWith("HTTP 404 ");
}

/** Returns the error for an answer that is not the apiserver's, with a remedy if one is known. */
export function notTheApiservers(answer: Answer, text: string): ApiError & { kind: "unanswered" } {
  const { status } = answer;
  const message = `HTTP ${status} without an object of the apiserver's`;
  const code = codeOf(text);
  const meaning = meaningOf(answer, code);
  if (!meaning) return { kind: "unanswered", message };
  const named = code !== null && code !== status ? `, error ${code}` : "";
  return { kind: "unanswered", message: `${message}${named}: ${meaning.says}`, cure: meaning.cure };
}

/** The longest wait that a proxy in front of the apiserver can cause. */
const LONGEST_WAIT_MS = 10_000;

/** Returns the Retry-After, at least a second; undefined without it. A proxy's wait is limited: it may be minutes. */
export function retryAfterMsOf({ status, headers }: Answer): number | undefined {
  if (status !== 429 && status < 500) return undefined;
  if (status === 502 || isOfTheEdge(status)) return undefined;
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  if (!(seconds >= 0)) return undefined;
  const afterMs = Math.max(1, seconds) * 1000;
  return isPage(headers) ? Math.min(afterMs, LONGEST_WAIT_MS) : afterMs;
}

function meaningOf({ status, headers }: Answer, code: number | null): Meaning | undefined {
  if (status >= 300 && status < 400) return isLogin(headers) ? ASKS_FOR_A_LOGIN : REDIRECTED;
  if (code !== null && code in MEANINGS) return MEANINGS[code];
  if (!isPage(headers) && PLAIN_OF_THE_APISERVER.has(status)) return undefined;
  return MEANINGS[status] ?? (isPage(headers) ? A_PAGE : undefined);
}

/** Reports whether the redirect leads to TEAM.cloudflareaccess.com, or to Access's path on the same hostname. */
function isLogin(headers: Headers): boolean {
  const to = URL.parse(headers.get("location") ?? "", "https://same.invalid");
  return (
    to !== null &&
    (to.hostname.endsWith(".cloudflareaccess.com") || to.pathname.startsWith("/cdn-cgi/access/"))
  );
}

const isPage = (headers: Headers) => /^text\/html\b/i.test(headers.get("content-type") ?? "");
/** Reports whether only Cloudflare's edge sends this status. */
const isOfTheEdge = (status: number) => status >= 520 && status <= 530;

/** Matches Cloudflare's error code: "error code: 1033" in plain text, "Error 1033" or "Error code 524" in pages. */
const CODE = /\berror(?:\s+code)?:?\s+(\d{3,4})\b|"error_code":\s*(\d{3,4})\b/i;
/** The number of characters in which the code is searched: Cloudflare's pages have the code in the title. */
const SEARCHED = 4096;

function codeOf(text: string): number | null {
  const found = CODE.exec(text.slice(0, SEARCHED));
  return found ? Number(found[1] ?? found[2]) : null;
}
