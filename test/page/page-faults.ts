// Records the faults in a page while a test uses it: errors, failed requests, requests to other origins, violations
// of its policy.
import type { BrowserContext, Page, Request } from "playwright-core";

export interface PageFaults {
  expect: (pattern: RegExp) => void;
  /** Returns the faults as lines, in the order of their arrival. */
  all: () => string[];
  unexpected: () => string[];
  throwUnexpected: () => void;
  /** Returns all messages that the page has logged. */
  console: () => string;
}

const BINDING = "rollcallTestViolation";

/**
 * A script that reports violations of the policy. The script runs before the page's own scripts, so that it misses no
 * violation.
 */
const REPORT_VIOLATIONS = `document.addEventListener("securitypolicyviolation", (event) =>
  window.${BINDING}(event.violatedDirective + " forbids " + (event.blockedURI || "inline") + " at " + event.sourceFile + ":" + event.lineNumber));`;

/** Matches lines that the browser logs about responses, which are already recorded as faults. */
const SAID_ALREADY = /^Failed to load resource: /;

/** Matches an expected answer: a check of the deployment fails, and the page shows which. */
const IS_ANSWER = /^GET \/readyz → 503$/;

/** Records the faults of a context's pages. `origin` is the pages' origin; no request may go elsewhere. */
export async function watchFaults(context: BrowserContext, origin: string): Promise<PageFaults> {
  const faults: string[] = [];
  const logged: string[] = [];
  const expected: RegExp[] = [];
  await context.exposeBinding(BINDING, (_, text: string) => void faults.push(`policy: ${text}`));
  await context.addInitScript({ content: REPORT_VIOLATIONS });
  context.on("console", (message) => {
    const text = message.text();
    logged.push(`${message.type()}: ${text}`);
    if (message.type() === "error" && !SAID_ALREADY.test(text)) faults.push(`console: ${text}`);
  });
  context.on(
    "weberror",
    (error) => void faults.push(`uncaught: ${error.error().stack ?? String(error.error())}`),
  );
  context.on("request", (request) => {
    if (isElsewhere(request.url(), origin)) faults.push(`elsewhere: ${lineOf(request)}`);
  });
  context.on("requestfailed", (request) => {
    const why = request.failure()?.errorText ?? "no reason";
    // net::ERR_ABORTED is no fault: the page itself cancelled the request.
    if (why !== "net::ERR_ABORTED") faults.push(`${lineOf(request)}: ${why}`);
  });
  context.on("response", (response) => {
    const line = `${lineOf(response.request())} → ${response.status()}`;
    if (response.status() >= 400 && !IS_ANSWER.test(line)) faults.push(line);
  });
  context.on("page", (page) => watchSockets(page, origin, faults));
  const unexpected = () => faults.filter((line) => !expected.some((pattern) => pattern.test(line)));
  return {
    expect: (pattern) => void expected.push(pattern),
    all: () => faults,
    unexpected,
    throwUnexpected() {
      const lines = unexpected();
      if (lines.length > 0) throw new Error(`In the page:\n${lines.map((line) => `  ${line}`).join("\n")}`);
    },
    console: () => logged.join("\n"),
  };
}

function watchSockets(page: Page, origin: string, faults: string[]): void {
  page.on("websocket", (socket) => {
    if (isElsewhere(socket.url().replace(/^ws/, "http"), origin)) faults.push(`elsewhere: ${socket.url()}`);
  });
}

function isElsewhere(url: string, origin: string): boolean {
  return new URL(url).origin !== origin;
}

/** Returns a request's line, such as `GET /v1/machines?limit=1`. */
function lineOf(request: Request): string {
  const { pathname, search } = new URL(request.url());
  return `${request.method()} ${pathname}${search}`;
}
