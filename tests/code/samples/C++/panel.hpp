#pragma once

QT_BEGIN_NAMESPACE
namespace Ui { class Panel; }
QT_END_NAMESPACE

namespace shop _SHOP_VISIBILITY(default) {
_SHOP_BEGIN_NAMESPACE_VERSION

class Panel : public QWidget {
    Q_OBJECT
    Q_PROPERTY(int width READ width WRITE setWidth)

public:
    explicit Panel(QWidget *parent = nullptr);
    int width() const SHOP_NOEXCEPT;
    void swap(Panel &other) SHOP_NOEXCEPT_IF_COPIED { }

public slots:
    void setWidth(int width);

signals:
    void widthChanged(int width);
};

enum Edge {
    LIST_BEGIN,
    LIST_END
};

_SHOP_END_NAMESPACE_VERSION
}  // namespace shop
