// Who may follow the feed, for how long, and what one that does not keep up costs.
import { mutantsOf } from "../mutant.ts";

const FEEDS = "worker/fleet/feeds.ts";
const FEEDS_TEST = "worker/fleet/feeds.test.ts";
const TICKETS = "worker/fleet/feed-tickets.ts";
const ROUTES_TEST = "worker/http/feed-routes.test.ts";

export const feedMutants = [
  ...mutantsOf("somebody who sends very much", [
    [
      "an operator has so many feeds",
      FEEDS,
      "own.length < FEED_LIMITS.feedsOfOperator",
      "own.length < Infinity",
      FEEDS_TEST,
      "as many as an operator may have",
    ],
    [
      "there are so many feeds",
      FEEDS,
      "sockets.length < FEED_LIMITS.feeds ",
      "sockets.length < Infinity ",
      FEEDS_TEST,
      "as many as there may be",
    ],
    [
      "a feed that does not acknowledge two messages is closed",
      FEEDS,
      "if (isFull) return TOO_SLOW;",
      "",
      FEEDS_TEST,
      "is kept while no third one is due",
    ],
    [
      "a feed that acknowledges nothing for ten seconds is closed",
      FEEDS,
      "const owedUntilMs = unacknowledged.length > 0 ? owesMs + FEED_LIMITS.acknowledgedMs : Infinity;",
      "const owedUntilMs = Infinity;",
      FEEDS_TEST,
      "for ten seconds",
    ],
  ]),
  ...mutantsOf("a thief of an operator's secret", [
    [
      "an open feed's credential is looked at again",
      FEEDS,
      "const isChecked = nowMs < state.checkedMs + FEED_CHECK_MS;",
      "const isChecked = true;",
      FEEDS_TEST,
      "that is not good any more",
    ],
    [
      "a feed ends",
      FEEDS,
      "if (nowMs >= state.openedMs + 1000 * FEED_LIMITS.lifeSeconds) return NOT_ALLOWED;",
      "",
      FEEDS_TEST,
      "of a feed that is 12 hours old",
    ],
    [
      "a ticket opens a feed once",
      TICKETS,
      'const query = "DELETE FROM feed_tickets WHERE hash = ? RETURNING holder, ends_ms";',
      'const query = "SELECT holder, ends_ms FROM feed_tickets WHERE hash = ?";',
      ROUTES_TEST,
      "opens one feed, in the name of who asked for it",
    ],
    [
      "a ticket ends",
      TICKETS,
      "row && nowMs < row.ends_ms",
      "row",
      ROUTES_TEST,
      "that is made up, or too old",
    ],
  ]),
];
