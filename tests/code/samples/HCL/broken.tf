variable "good" {}
resource "aws_x" "bad" { a = = }
variable "fine" { default = 1 }
