// Deployment: to come.
export function DeploymentView() {
  return <h1>Deployment</h1>;
}
