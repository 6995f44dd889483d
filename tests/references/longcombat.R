# Frozen answers of R's longCombat for persons with several visits, in longcombat.json beside this file.
# Made with Debian's r-base-core 4.2.2 and r-cran-lme4 1.1-31, and the function longCombat of
# https://github.com/jcbeer/longCombat (commit 0527e1a); run by hand, not by the tests:
#
#     apt-get install r-cran-lme4
#     Rscript tests/references/longcombat.R longCombat/R/longCombat.R
#
# 48 persons with one to four visits at three scanners, at one or at several of them, and six
# regions; the last has no intercepts of persons. Age and sex (0, 1) are preserved. Rounds of empirical
# Bayes are 300 and not 30, so that the answer is that of the equations.

source(commandArgs(trailingOnly = TRUE)[1])
set.seed(20261117)

# JSON by hand, with all 17 digits of a double
number <- function(x) paste0("[", paste(sprintf("%.17g", x), collapse = ","), "]")
rows <- function(M) paste0("[", paste(apply(M, 1, number), collapse = ",\n"), "]")

visits <- rep(1:4, length.out = 48)
person <- rep(seq_along(visits), visits)
n <- length(person)
m <- 6
scanner <- sample(3, n, TRUE)
scanner[person <= 12] <- (person[person <= 12] %% 3) + 1  # some persons keep to one scanner
age <- round((20 + 40 * runif(48))[person] + 3 * runif(n) + 4 * (scanner == 2), 2)
sex <- rbinom(48, 1, 0.5)[person]
spread <- c(0.2, 0.3, 0.25, 0.15, 0.3, 0)
values <- matrix(0, n, m)
for (j in 1:m) {
  shift <- rnorm(3, sd = 0.2)
  stretch <- runif(3, 0.6, 1.6)
  values[, j] <- 2.5 - 0.01 * age + 0.1 * sex + rnorm(48, sd = spread[j])[person] +
    shift[scanner] + 0.15 * stretch[scanner] * rnorm(n)
}
values <- round(values, 6)
colnames(values) <- paste0("region", 1:m)
data <- data.frame(person = factor(person), age = age, sex = sex, scanner = factor(scanner), values)
answer <- longCombat("person", "age", "scanner", colnames(values), "age + sex", "(1|person)",
                     niter = 300, data = data, verbose = FALSE)

text <- c(
  values = rows(values), person = number(person), scanner = number(scanner), age = number(age),
  sex = number(sex), gamma_star = rows(answer$gammastarhat), delta_star = rows(answer$delta2starhat),
  harmonised = rows(as.matrix(answer$data_combat[, -(1:2)]))
)
here <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
writeLines(paste0("{", paste0('"', names(text), '": ', text, collapse = ",\n"), "}"),
           file.path(here, "longcombat.json"))
