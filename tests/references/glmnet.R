# Frozen answers of R's glmnet for small lasso problems, in glmnet.json beside this file.
# Made with Debian's r-base-core 4.2.2 and r-cran-glmnet 4.1-6; run by hand, not by the tests:
#
#     apt-get install r-cran-glmnet
#     Rscript tests/references/glmnet.R
#
# One variable of a table is regressed on some of the others. glmnet minimises
#     RSS / (2 n) + lambda * sum_k v_k |b_k|,    v = penalty.factor * p / sum(penalty.factor),
# on columns that it standardises itself (divisor n). With lambda = alpha * sd(y), divisor n, this
# is the problem of sgbn.learn.lasso with prices alpha * v. Coefficients are frozen in the units of
# the data, intercept first.
#
# glmnet stops where no step lowers the objective by more than thresh times the null deviance, which
# is the square of a step. Of standardised weights, 1e-14 leaves errors of up to 4e-5 here, and
# 1e-28 errors of 5e-12.

suppressMessages(library(glmnet))
SEED <- 20261116
THRESH <- 1e-28
ALPHAS <- c(0.5, 0.2, 0.1, 0.05, 0.02, 0.005)
set.seed(SEED)

# JSON by hand, with all 17 digits of a double
number <- function(x) paste0("[", paste(sprintf("%.17g", x), collapse = ","), "]")
rows <- function(M) paste0("[", paste(apply(M, 1, number), collapse = ",\n"), "]")
object <- function(...) {
  parts <- list(...)
  paste0("{", paste0('"', names(parts), '": ', unlist(parts), collapse = ",\n"), "}")
}
list_of <- function(parts) paste0("[", paste(unlist(parts), collapse = ",\n"), "]")

# A chain with side effects, in unlike units and with means far from zero
simulate <- function(n, m) {
  X <- matrix(rnorm(n * m), n, m)
  for (j in 2:m) {
    parents <- sample(j - 1, min(j - 1, 2))
    weights <- runif(length(parents), 0.4, 1) * sample(c(-1, 1), length(parents), TRUE)
    X[, j] <- X[, j] + X[, parents, drop = FALSE] %*% weights
  }
  X <- sweep(sweep(X, 2, exp(runif(m, -2, 2)), "*"), 2, runif(m, -5, 5), "+")
  round(X, 6)
}

solve_path <- function(X, target, others, factor) {
  y <- X[, target]
  sd_y <- sqrt(mean((y - mean(y))^2))
  # glmnet refuses a single regressor: it gets a second one, which is excluded
  single <- length(others) == 1
  Z <- X[, others, drop = FALSE]
  if (single) Z <- cbind(Z, seq_len(nrow(X)))
  fit <- glmnet(Z, y, family = "gaussian", alpha = 1, lambda = ALPHAS * sd_y,
                standardize = TRUE, intercept = TRUE, thresh = THRESH, maxit = 1e8,
                penalty.factor = if (single) c(factor, 1) else factor,
                exclude = if (single) 2 else NULL)
  stopifnot(fit$jerr == 0)
  answer <- t(as.matrix(coef(fit)))[, seq_len(length(others) + 1), drop = FALSE]
  object(target = target - 1, others = number(others - 1), factor = number(factor),
         coefficients = rows(answer))
}

sizes <- list(c(60, 6), c(100, 10), c(25, 30))  # the last has more columns than rows
cases <- lapply(sizes, function(size) {
  n <- size[1]; m <- size[2]
  X <- simulate(n, m)
  plain <- lapply(head(seq_len(m), 10), function(j) {
    others <- setdiff(seq_len(m), j)
    solve_path(X, j, others, rep(1, m - 1))
  })
  weighted <- lapply(1:3, function(j) {
    others <- setdiff(seq_len(m), j)
    factor <- round(runif(m - 1, 0.2, 3), 3)
    factor[2] <- 0  # one that costs nothing
    solve_path(X, j, others, factor)
  })
  # every variable on those before it: the lasso of a network whose order is known
  ordered <- if (m > 10) list() else lapply(2:m, function(j) {
    solve_path(X, j, seq_len(j - 1), rep(1, j - 1))
  })
  object(data = rows(X), plain = list_of(plain), weighted = list_of(weighted),
         ordered = list_of(ordered))
})

made <- object(R = paste0('"', R.version$major, ".", R.version$minor, '"'),
               glmnet = paste0('"', packageVersion("glmnet"), '"'),
               seed = SEED, thresh = THRESH)
arguments <- commandArgs()
here <- dirname(sub("^--file=", "", grep("^--file=", arguments, value = TRUE)))
writeLines(object(made_by = made, alphas = number(ALPHAS), cases = list_of(cases)),
           file.path(here, "glmnet.json"))
