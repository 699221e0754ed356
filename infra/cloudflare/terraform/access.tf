# Access at the apiserver's hostname lets only the Worker's service token through.
resource "cloudflare_zero_trust_access_service_token" "worker" {
  count      = var.kube_hostname == "" ? 0 : 1
  account_id = var.account_id
  name       = "rollcall"
  duration   = var.service_token_duration

  lifecycle {
    create_before_destroy = true
  }
}

resource "cloudflare_zero_trust_access_policy" "worker" {
  count      = var.kube_hostname == "" ? 0 : 1
  account_id = var.account_id
  name       = "rollcall: the Worker"
  # non_identity is Service Auth. With any other decision, Access would ask for a login.
  decision = "non_identity"
  include = [{
    service_token = {
      token_id = cloudflare_zero_trust_access_service_token.worker[0].id
    }
  }]
}

resource "cloudflare_zero_trust_access_application" "apiserver" {
  count                = var.kube_hostname == "" ? 0 : 1
  account_id           = var.account_id
  name                 = "rollcall: the apiserver"
  type                 = "self_hosted"
  domain               = var.kube_hostname
  app_launcher_visible = false
  # Answers 401 in place of a redirect to a login, because only programs use this hostname.
  service_auth_401_redirect = true
  policies = [{
    id = cloudflare_zero_trust_access_policy.worker[0].id
  }]
}

# At the Worker's own hostname, machines bypass Access: they sign their requests, and cannot log in.
locals {
  machine_paths = var.rollcall_hostname == "" ? [] : jsondecode(file("${path.module}/machine-paths.json"))
}

resource "cloudflare_zero_trust_access_policy" "machines" {
  count      = var.rollcall_hostname == "" ? 0 : 1
  account_id = var.account_id
  name       = "rollcall: machines"
  decision   = "bypass"
  include    = [{ everyone = {} }]
}

# Of two matching applications, the one with the more specific path counts: https://developers.cloudflare.com/cloudflare-one/access-controls/policies/app-paths/
resource "cloudflare_zero_trust_access_application" "machines" {
  for_each             = toset(local.machine_paths)
  account_id           = var.account_id
  name                 = "rollcall: machines, ${each.key}"
  type                 = "self_hosted"
  domain               = "${var.rollcall_hostname}${each.key}"
  app_launcher_visible = false
  policies = [{
    id = cloudflare_zero_trust_access_policy.machines[0].id
  }]
}

resource "cloudflare_zero_trust_access_policy" "operators" {
  count      = var.rollcall_hostname == "" ? 0 : 1
  account_id = var.account_id
  name       = "rollcall: operators"
  decision   = "allow"
  include    = [for address in var.operators : { email = { email = address } }]

  lifecycle {
    precondition {
      condition     = length(var.operators) > 0
      error_message = "With rollcall_hostname set, name at least one operator: without operators, Access lets no person through to the page."
    }
  }
}

# Programs that monitor the Worker or work for operators cannot log in, so each has a service token. To the Worker
# such a program is an operator with the role view, or admin if ACCESS_ADMINS has its client ID.
resource "cloudflare_zero_trust_access_service_token" "programs" {
  for_each   = var.rollcall_hostname == "" ? toset([]) : var.programs
  account_id = var.account_id
  name       = "rollcall: ${each.key}"
  duration   = var.service_token_duration

  lifecycle {
    create_before_destroy = true
  }
}

resource "cloudflare_zero_trust_access_policy" "programs" {
  count      = var.rollcall_hostname == "" || length(var.programs) == 0 ? 0 : 1
  account_id = var.account_id
  name       = "rollcall: programs"
  # non_identity is Service Auth, as at the apiserver's hostname.
  decision = "non_identity"
  include = [for token in cloudflare_zero_trust_access_service_token.programs : {
    service_token = { token_id = token.id }
  }]
}

resource "cloudflare_zero_trust_access_application" "operators" {
  count            = var.rollcall_hostname == "" ? 0 : 1
  account_id       = var.account_id
  name             = "rollcall"
  type             = "self_hosted"
  domain           = var.rollcall_hostname
  session_duration = "12h"
  policies = [
    for policy in concat(
      cloudflare_zero_trust_access_policy.programs,
      cloudflare_zero_trust_access_policy.operators,
    ) : { id = policy.id }
  ]

  # The applications that let machines through exist before this one, which asks for a login.
  depends_on = [cloudflare_zero_trust_access_application.machines]
}
