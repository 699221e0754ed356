// What a browser may do with the page: nothing but what its own files say.
import { mutantsOf } from "../mutant.ts";

const HEADERS = "infra/page/headers.ts";
const HEADERS_TEST = "infra/page/headers.test.ts";

export const pageMutants = [
  ...mutantsOf("a page that an operator visits", [
    ["no frame around the page", HEADERS, `"frame-ancestors 'none'",`, "", HEADERS_TEST, "frame-ancestors"],
    [
      "no frame, for older browsers",
      HEADERS,
      '"X-Frame-Options": "DENY",',
      "",
      HEADERS_TEST,
      "X-Frame-Options",
    ],
    [
      "no window of another origin holds the page's",
      HEADERS,
      '"Cross-Origin-Opener-Policy": "same-origin",',
      "",
      HEADERS_TEST,
      "Cross-Origin-Opener-Policy",
    ],
  ]),
  ...mutantsOf("a machine with texts for an operator", [
    [
      "no script in the page but its files",
      HEADERS,
      `"script-src 'self'",`,
      `"script-src 'self' 'unsafe-inline'",`,
      HEADERS_TEST,
      "nothing unsafe",
    ],
    [
      "nothing by default",
      HEADERS,
      `"default-src 'none'",`,
      `"default-src 'self'",`,
      HEADERS_TEST,
      "nothing unsafe",
    ],
    [
      "no list of machines' texts is taken for a page",
      "worker/index.ts",
      'c.res.headers.set("x-content-type-options", "nosniff");',
      "",
      "worker/index.test.ts",
      "takes no text of a machine's for a page",
    ],
    [
      "a fleet that cannot be read is not asked for at full speed",
      "worker/page/live/feed-client.ts",
      "if (this.#provenMs - this.#openedMs >= STEADY_AFTER_MS) this.#failures = 0;",
      "this.#failures = 0;",
      "worker/page/live/feed-client.test.ts",
      "are short again after a line that held, and not after one that was there for a moment",
    ],
    [
      "no text becomes HTML",
      HEADERS,
      `"require-trusted-types-for 'script'",`,
      "",
      HEADERS_TEST,
      "takes no text for HTML",
    ],
    ["no other base of its links", HEADERS, `"base-uri 'none'",`, "", HEADERS_TEST, "base-uri"],
    ["no form that goes elsewhere", HEADERS, `"form-action 'none'",`, "", HEADERS_TEST, "form-action"],
    [
      "no file is read as another type",
      HEADERS,
      '"X-Content-Type-Options": "nosniff",',
      "",
      HEADERS_TEST,
      "nosniff",
    ],
  ]),
  ...mutantsOf("whoever sits down at a browser after an operator", [
    [
      "who has signed out leaves nothing of the fleet",
      "worker/page/live/live-fleet.ts",
      "this.#view = new FeedView();\n    batch",
      "batch",
      "worker/page/live/live-fleet.test.ts",
      "nothing that was told is known any more",
    ],
    [
      "a browser keeps no answer",
      "worker/index.ts",
      'c.res.headers.set("cache-control", "no-store");',
      "",
      "worker/index.test.ts",
      "a browser keeps no copy",
    ],
  ]),
];
