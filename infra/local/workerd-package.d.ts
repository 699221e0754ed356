// The package has no types: it is a CommonJS module whose `default` is the path of the program.
declare module "workerd" {
  const workerd: { default: string };
  // oxlint-disable-next-line import/no-default-export -- what Node makes of a CommonJS module
  export default workerd;
}
