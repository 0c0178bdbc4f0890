# Judges an AMI before it is created, on a builder without a GPU, for every instance type that the AMI is meant for. The
# build fails if the CUDA stack does not work on one of them (exit 1) or if a fact that matters is missing (exit 3). If the
# image is to have a framework, write --require driver,build: an environment that was not installed then fails it, too.
# For types with EFA, such as p5.48xlarge, add a line that judges only them with --require driver,efa --fail-on warning:
# without EFA's plugin, NCCL falls back to TCP between nodes, which is a warning.
#
#   packer init . && packer build -var binary=bin/cudacompat -var source_ami=ami-0123456789abcdef0 .

packer {
  required_plugins {
    amazon = {
      source  = "github.com/hashicorp/amazon"
      version = "~> 1.3"
    }
  }
}

variable "binary" {
  type        = string
  description = "The cudacompat binary for the builder's architecture."
  default     = "bin/cudacompat"
}

variable "source_ami" {
  type = string
}

variable "instances" {
  type        = list(string)
  description = "Instance types that the AMI is meant for."
  default     = ["g6e.xlarge", "p5.48xlarge", "g4dn.xlarge"]
}

source "amazon-ebs" "gpu" {
  ami_name      = "gpu-${formatdate("YYYYMMDDhhmmss", timestamp())}"
  instance_type = "c7i.2xlarge" # no GPU is needed
  source_ami    = var.source_ami
  ssh_username  = "ubuntu"
}

build {
  sources = ["source.amazon-ebs.gpu"]

  # The provisioners that install the driver, the fabric manager and the environment go here.

  provisioner "file" {
    source      = var.binary
    destination = "cudacompat"
  }

  provisioner "shell" {
    environment_vars = ["NO_COLOR=1"]
    inline = [
      "sudo install -m 0755 cudacompat /usr/local/bin/cudacompat",
      "sudo -E /usr/local/bin/cudacompat doctor --offline --require driver --instance ${join(",", var.instances)} -o text=/dev/stderr -o json >cudacompat.json",
    ]
  }

  provisioner "file" {
    direction   = "download"
    source      = "cudacompat.json"
    destination = "cudacompat.json"
  }
}
