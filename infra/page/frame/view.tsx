// Which view the URL names. The fleet is in the first load; the others are loaded when they are opened.
import type { ComponentType } from "preact";
import { lazyView } from "../parts/lazy-view.tsx";
import { FleetView } from "../fleet/fleet-view.tsx";
import { usePage } from "../page.ts";
import type { ViewName } from "../base/route.ts";

const VIEWS: Readonly<Record<ViewName, ComponentType>> = {
  fleet: FleetView,
  approvals: lazyView(async () => (await import("../approvals/approvals-view.tsx")).ApprovalsView),
  tokens: lazyView(async () => (await import("../tokens/tokens-view.tsx")).TokensView),
  audit: lazyView(async () => (await import("../audit/audit-view.tsx")).AuditView),
  notifications: lazyView(
    async () => (await import("../notifications/notifications-view.tsx")).NotificationsView,
  ),
  deployment: lazyView(async () => (await import("../deployment/deployment-view.tsx")).DeploymentView),
};
const MachineView = lazyView(async () => (await import("../machine/machine-view.tsx")).MachineView);

export function View() {
  const route = usePage().route.value;
  if (route.view === "machine") return <MachineView key={route.machine} name={route.machine} />;
  const Shown = VIEWS[route.view];
  return <Shown />;
}
