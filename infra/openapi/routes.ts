// Every route of the Worker, as the API's description has it. A new group is a file in routes/ and a line here.
import type { Route } from "./route.ts";
import { ADMINISTRATION_ROUTES } from "./routes/administration.ts";
import { BULK_ROUTES } from "./routes/bulk.ts";
import { DEPLOYMENT_ROUTES } from "./routes/deployment.ts";
import { FLEET_ROUTES } from "./routes/fleet.ts";
import { HEALTH_ROUTES } from "./routes/health.ts";
import { LIVE_ROUTES } from "./routes/live.ts";
import { MACHINE_ROUTES } from "./routes/machines.ts";
import { NODE_ROUTES } from "./routes/nodes.ts";
import { NOTIFICATION_ROUTES } from "./routes/notifications.ts";
import { SESSION_ROUTES } from "./routes/sessions.ts";
import { TOKEN_ROUTES } from "./routes/tokens.ts";

export const ROUTES: readonly Route[] = [
  ...FLEET_ROUTES,
  ...NOTIFICATION_ROUTES,
  ...LIVE_ROUTES,
  ...NODE_ROUTES,
  ...TOKEN_ROUTES,
  ...ADMINISTRATION_ROUTES,
  ...SESSION_ROUTES,
  ...BULK_ROUTES,
  ...DEPLOYMENT_ROUTES,
  ...HEALTH_ROUTES,
  ...MACHINE_ROUTES,
];
