"""The data of the shop."""

import os

from sqlalchemy import create_engine, make_url
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker

DATABASE = os.environ["DATABASE_URL"]
Session = sessionmaker(create_engine(make_url(DATABASE).set(drivername="postgresql+psycopg")))


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "customer_order"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str]
    item: Mapped[str]


class Sales(Base):
    __tablename__ = "sales"
    item: Mapped[str] = mapped_column(primary_key=True)
    sold: Mapped[int]


if __name__ == "__main__":
    with Session.begin() as session:
        Base.metadata.create_all(session.connection())
