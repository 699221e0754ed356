// Notifications: to come.
export function NotificationsView() {
  return <h1>Notifications</h1>;
}
