variable "account_id" {
  type        = string
  description = "The Cloudflare account's ID."
}

variable "zone_id" {
  type        = string
  description = "The ID of the zone of both hostnames."
}

variable "kube_hostname" {
  type        = string
  default     = ""
  description = "The apiserver's hostname, kube.example.com: a Tunnel behind Access. Empty: there is none."
}

variable "with_vpc_service" {
  type        = bool
  default     = false
  description = "Make a Workers VPC service, which has no hostname on the internet."
}

variable "rollcall_hostname" {
  type        = string
  default     = ""
  description = "The Worker's hostname, rollcall.example.com: machines get through, operators by Access. Empty: Access is left alone there."
}

variable "operators" {
  type        = set(string)
  default     = []
  description = "Mail addresses of whom Access lets to the Worker's page and API; ACCESS_ADMINS says who of them may change things."
}

variable "programs" {
  type        = set(string)
  default     = []
  description = "What gets to the Worker's API without a login, deploying and prometheus for example: each name has a service token of its own."
}

variable "service_token_duration" {
  type        = string
  default     = "8760h"
  description = "After so long the service tokens end, unless they are renewed."
}
