"""Works that the methods paragraph cites: as a line of a list and as BibTeX."""

from __future__ import annotations

from typing import NamedTuple

OTHERS = "others"  # how BibTeX says that there are more authors


class Reference(NamedTuple):
    """One work.

    Attributes
    ----------
    key : str
        Of BibTeX.
    kind : str
        "article", "inproceedings", "book" or "software".
    authors : tuple of str
        Each as "Family, Given".
    where : str
        Journal, proceedings, publisher, or version of a program.
    """

    key: str
    kind: str
    authors: tuple[str, ...]
    title: str
    where: str
    year: int | None = None
    volume: str = ""
    issue: str = ""
    pages: str = ""
    doi: str = ""

    @property
    def text(self) -> str:
        """Line of a list of references."""
        names = [_short(name) for name in self.authors]
        place = f"{self.where} {self.volume}" if self.volume else self.where
        place += f"({self.issue})" if self.issue else ""
        place += f", {self.pages.replace('--', '–')}" if self.pages else ""
        end = f" doi:{self.doi}" if self.doi else ""
        when = f" ({self.year})" if self.year else ""
        return f"{', '.join(names)}{when}. {self.title}. {place}.{end}"

    @property
    def bibtex(self) -> str:
        """Entry of a BibTeX file."""
        homes = {"book": "publisher", "software": "note", "inproceedings": "booktitle"}
        home = homes.get(self.kind, "journal")
        fields = {
            "author": " and ".join(self.authors),
            "title": f"{{{self.title}}}",
            home: self.where.replace("&", r"\&"),
            "year": str(self.year or ""),
            "volume": self.volume,
            "number": self.issue,
            "pages": self.pages,
            "doi": self.doi,
        }
        lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
        return f"@{self.kind}{{{self.key},\n" + ",\n".join(lines) + "\n}"


def _short(name: str) -> str:
    """Family name with initials."""
    if name == OTHERS:
        return "et al."
    family, _, given = name.strip("{}").partition(", ")
    initials = "".join(part[0] for part in given.replace("-", " ").split())
    return f"{family} {initials}".strip()


_WORKS = (
    Reference(
        "zhou2016",
        "article",
        ("Zhou, Luping", "Wang, Lei", "Liu, Lingqiao", "Ogunbona, Philip", "Shen, Dinggang"),
        "Learning Discriminative Bayesian Networks from High-dimensional Continuous "
        "Neuroimaging Data",
        "IEEE Transactions on Pattern Analysis and Machine Intelligence",
        2016,
        "38",
        "11",
        "2269--2283",
        "10.1109/TPAMI.2015.2511754",
    ),
    Reference(
        "huang2013",
        "article",
        ("Huang, Shuai", "Li, Jing", "Ye, Jieping", OTHERS),
        "A sparse structure learning algorithm for Gaussian Bayesian network identification from "
        "high-dimensional data",
        "IEEE Transactions on Pattern Analysis and Machine Intelligence",
        2013,
        "35",
        "6",
        "1328--1342",
        "10.1109/TPAMI.2012.129",
    ),
    Reference(
        "friedman2003",
        "article",
        ("Friedman, Nir", "Koller, Daphne"),
        "Being Bayesian about network structure: a Bayesian approach to structure discovery in "
        "Bayesian networks",
        "Machine Learning",
        2003,
        volume="50",
        pages="95--125",
        doi="10.1023/A:1020249912095",
    ),
    Reference(
        "margaritis1999",
        "inproceedings",
        ("Margaritis, Dimitris", "Thrun, Sebastian"),
        "Bayesian network induction via local neighborhoods",
        "Advances in Neural Information Processing Systems 12",
        1999,
    ),
    Reference(
        "tsamardinos2003",
        "inproceedings",
        ("Tsamardinos, Ioannis", "Aliferis, Constantin F.", "Statnikov, Alexander"),
        "Algorithms for large scale Markov blanket discovery",
        "Proceedings of the Sixteenth International FLAIRS Conference",
        2003,
        pages="376--381",
    ),
    Reference(
        "schmidt2007",
        "inproceedings",
        ("Schmidt, Mark", "Niculescu-Mizil, Alexandru", "Murphy, Kevin"),
        "Learning graphical model structure using L1-regularization paths",
        "Proceedings of the Twenty-Second AAAI Conference on Artificial Intelligence",
        2007,
    ),
    Reference(
        "pellet2008",
        "article",
        ("Pellet, Jean-Philippe", "Elisseeff, André"),
        "Using Markov blankets for causal structure learning",
        "Journal of Machine Learning Research",
        2008,
        "9",
        "",
        "1295--1342",
    ),
    Reference(
        "chen2008",
        "article",
        ("Chen, Jiahua", "Chen, Zehua"),
        "Extended Bayesian information criteria for model selection with large model spaces",
        "Biometrika",
        2008,
        "95",
        "3",
        "759--771",
        "10.1093/biomet/asn034",
    ),
    Reference(
        "johnson2007",
        "article",
        ("Johnson, W. Evan", "Li, Cheng", "Rabinovic, Ariel"),
        "Adjusting batch effects in microarray expression data using empirical Bayes methods",
        "Biostatistics",
        2007,
        "8",
        "1",
        "118--127",
        "10.1093/biostatistics/kxj037",
    ),
    Reference(
        "fortin2018",
        "article",
        ("Fortin, Jean-Philippe", "Cullen, Nicholas", "Sheline, Yvette I.", OTHERS),
        "Harmonization of cortical thickness measurements across scanners and sites",
        "NeuroImage",
        2018,
        "167",
        "",
        "104--120",
        "10.1016/j.neuroimage.2017.11.024",
    ),
    Reference(
        "pomponio2020",
        "article",
        ("Pomponio, Raymond", "Erus, Guray", "Habes, Mohamad", OTHERS),
        "Harmonization of large MRI datasets for the analysis of brain imaging patterns throughout "
        "the lifespan",
        "NeuroImage",
        2020,
        "208",
        "",
        "116450",
        "10.1016/j.neuroimage.2019.116450",
    ),
    Reference(
        "beer2020",
        "article",
        ("Beer, Joanne C.", "Tustison, Nicholas J.", "Cook, Philip A.", OTHERS),
        "Longitudinal ComBat: A method for harmonizing longitudinal multi-scanner imaging data",
        "NeuroImage",
        2020,
        "220",
        "",
        "117129",
        "10.1016/j.neuroimage.2020.117129",
    ),
    Reference(
        "wood2011",
        "article",
        ("Wood, Simon N.",),
        "Fast stable restricted maximum likelihood and marginal likelihood estimation of "
        "semiparametric generalized linear models",
        "Journal of the Royal Statistical Society: Series B",
        2011,
        "73",
        "1",
        "3--36",
        "10.1111/j.1467-9868.2010.00749.x",
    ),
    Reference(
        "shah2013",
        "article",
        ("Shah, Rajen D.", "Samworth, Richard J."),
        "Variable selection with error control: another look at stability selection",
        "Journal of the Royal Statistical Society: Series B",
        2013,
        "75",
        "1",
        "55--80",
        "10.1111/j.1467-9868.2011.01034.x",
    ),
    Reference(
        "freedman1983",
        "article",
        ("Freedman, David", "Lane, David"),
        "A nonstochastic interpretation of reported significance levels",
        "Journal of Business & Economic Statistics",
        1983,
        "1",
        "4",
        "292--298",
        "10.1080/07350015.1983.10509354",
    ),
    Reference(
        "winkler2015",
        "article",
        (
            "Winkler, Anderson M.",
            "Webster, Matthew A.",
            "Vidaurre, Diego",
            "Nichols, Thomas E.",
            "Smith, Stephen M.",
        ),
        "Multi-level block permutation",
        "NeuroImage",
        2015,
        "123",
        "",
        "253--268",
        "10.1016/j.neuroimage.2015.05.092",
    ),
    Reference(
        "westfall1993",
        "book",
        ("Westfall, Peter H.", "Young, S. Stanley"),
        "Resampling-Based Multiple Testing: Examples and Methods for p-Value Adjustment",
        "Wiley",
        1993,
    ),
    Reference(
        "benjamini1995",
        "article",
        ("Benjamini, Yoav", "Hochberg, Yosef"),
        "Controlling the false discovery rate: a practical and powerful approach to multiple "
        "testing",
        "Journal of the Royal Statistical Society: Series B",
        1995,
        "57",
        "1",
        "289--300",
        "10.1111/j.2517-6161.1995.tb02031.x",
    ),
    Reference(
        "mackinnon1985",
        "article",
        ("MacKinnon, James G.", "White, Halbert"),
        "Some heteroskedasticity-consistent covariance matrix estimators with improved finite "
        "sample properties",
        "Journal of Econometrics",
        1985,
        "29",
        "3",
        "305--325",
        "10.1016/0304-4076(85)90158-7",
    ),
    Reference(
        "marcus1976",
        "article",
        ("Marcus, Ruth", "Peritz, Eric", "Gabriel, K. Ruben"),
        "On closed testing procedures with special reference to ordered analysis of variance",
        "Biometrika",
        1976,
        "63",
        "3",
        "655--660",
        "10.1093/biomet/63.3.655",
    ),
    Reference(
        "zalesky2010",
        "article",
        ("Zalesky, Andrew", "Fornito, Alex", "Bullmore, Edward T."),
        "Network-based statistic: identifying differences in brain networks",
        "NeuroImage",
        2010,
        "53",
        "4",
        "1197--1207",
        "10.1016/j.neuroimage.2010.06.041",
    ),
    Reference(
        "joreskog1967",
        "article",
        ("Jöreskog, Karl G.",),
        "Some contributions to maximum likelihood factor analysis",
        "Psychometrika",
        1967,
        "32",
        "4",
        "443--482",
        "10.1007/BF02289658",
    ),
    Reference(
        "friedman2008",
        "article",
        ("Friedman, Jerome", "Hastie, Trevor", "Tibshirani, Robert"),
        "Sparse inverse covariance estimation with the graphical lasso",
        "Biostatistics",
        2008,
        "9",
        "3",
        "432--441",
        "10.1093/biostatistics/kxm045",
    ),
    Reference(
        "nadeau2003",
        "article",
        ("Nadeau, Claude", "Bengio, Yoshua"),
        "Inference for the generalization error",
        "Machine Learning",
        2003,
        "52",
        "3",
        "239--281",
        "10.1023/A:1024068626366",
    ),
    Reference(
        "pedregosa2011",
        "article",
        ("Pedregosa, Fabian", "Varoquaux, Gaël", "Gramfort, Alexandre", OTHERS),
        "Scikit-learn: Machine Learning in Python",
        "Journal of Machine Learning Research",
        2011,
        "12",
        "",
        "2825--2830",
    ),
    Reference(
        "abraham2014",
        "article",
        ("Abraham, Alexandre", "Pedregosa, Fabian", "Eickenberg, Michael", OTHERS),
        "Machine learning for neuroimaging with scikit-learn",
        "Frontiers in Neuroinformatics",
        2014,
        volume="8",
        pages="14",
        doi="10.3389/fninf.2014.00014",
    ),
    Reference(
        "ramsey2010",
        "article",
        ("Ramsey, Joseph D.", "Hanson, Stephen José", "Hanson, Catherine", OTHERS),
        "Six problems for causal inference from fMRI",
        "NeuroImage",
        2010,
        "49",
        "2",
        "1545--1558",
        "10.1016/j.neuroimage.2009.08.065",
    ),
    Reference(
        "smith2011",
        "article",
        ("Smith, Stephen M.", "Miller, Karla L.", "Salimi-Khorshidi, Gholamreza", OTHERS),
        "Network modelling methods for FMRI",
        "NeuroImage",
        2011,
        "54",
        "2",
        "875--891",
        "10.1016/j.neuroimage.2010.08.063",
    ),
    Reference(
        "bartlett1935",
        "article",
        ("Bartlett, M. S.",),
        "Some aspects of the time-correlation problem in regard to tests of significance",
        "Journal of the Royal Statistical Society",
        1935,
        "98",
        "3",
        "536--543",
    ),
    Reference(
        "afyouni2019",
        "article",
        ("Afyouni, Soroosh", "Smith, Stephen M.", "Nichols, Thomas E."),
        "Effective degrees of freedom of the Pearson's correlation coefficient under "
        "autocorrelation",
        "NeuroImage",
        2019,
        volume="199",
        pages="609--625",
        doi="10.1016/j.neuroimage.2019.05.011",
    ),
)

REFERENCES = {work.key: work for work in _WORKS}


def software(version: str) -> Reference:
    """Make the reference to this package."""
    return Reference(
        "sgbn",
        "software",
        ("{the sgbn developers}",),
        "sgbn: sparse Gaussian Bayesian networks, one directed network per group",
        f"Version {version}",
    )
